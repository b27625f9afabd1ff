package delegation

import (
	"regexp"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/privacy"
)

// redactedError is an error whose text has no secrets. Providers quote keys,
// headers and addresses with passwords in their errors, and a reason is read by
// agents and written to logs.
type redactedError struct{ err error }

// Error implements error.
func (e redactedError) Error() string { return withoutSecrets(e.err.Error()) }

// Unwrap returns the error with its text as it was.
func (e redactedError) Unwrap() error { return e.err }

// masks are replaced in the text of an error, in this order. They match more than
// package redact does, which must leave prose and code alone: in an error it is
// better to hide a harmless word than to show a key.
var masks = []struct {
	find func() *regexp.Regexp
	with string
}{
	// The key of the sub-agent's session, which looks like a secret and tells the caller nothing.
	{lazyregexp.New(`agent "agent:.*?:subagent:[\w-]+": `), ""},
	// The user and password, or the token, of an address: both may have an @
	// or a / themselves.
	{lazyregexp.New(`(://)[^\s"<>]+@`), "$1[redacted]@"},
	// What follows the path of an address.
	{lazyregexp.New(`(://[^\s"<>?#]*[?#])[^\s"<>]+`), "$1[redacted]"},
	{lazyregexp.New(`([?&][\w.-]+=)[^\s"'<>&]+`), "$1[redacted]"},
	{lazyregexp.New(`(?i)(authorization` + assigns + `)(?:\w+\s+)?` + assigned), "$1[redacted]"},
	{lazyregexp.New(`(?i)\b(bearer\s+)` + assigned), "$1[redacted]"},
	{lazyregexp.New(`(?i)((?:api[-_ ]?key|token|secret|password|passwd)(?: provided)?` + assigns + `)` + assigned), "$1[redacted]"},
}

// A name and its value, in a header, a query or JSON that may be quoted once
// more.
const (
	assigns  = `[\\"']*\s*[:=]\s*[\\"']*`
	assigned = `[^\s\\"',;&]+`
)

// withoutSecrets masks the secrets in the text of an error.
func withoutSecrets(text string) string {
	for _, m := range masks {
		text = m.find().ReplaceAllString(text, m.with)
	}
	if clean, _ := (privacy.Redactor{Secrets: true, KeepPrivate: true}).Text([]byte(text)); clean != nil {
		text = string(clean)
	}
	return text
}
