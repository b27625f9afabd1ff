package summary

// WithNonce sets the source of the markers around untrusted text.
func WithNonce(nonce func() string) ModelOption { return func(m *Model) { m.nonce = nonce } }
