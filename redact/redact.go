// Package redact finds what should not be remembered: secrets (keys, tokens,
// passwords in addresses, private keys) and what a person has marked as
// private. It finds and replaces; when to is for package ingest to say.
//
// A secret is found by its shape: the prefix and length of a provider's keys,
// the frame of a private key, the password in a connection string, the value
// of an assignment that is named like a secret and looks like noise. It is
// conservative: a hash, a UUID or an example in a manual is none. What has no
// shape (a short password in a sentence) is not found; mark it as private.
//
// A private block is what stands between <private> and </private>. Blocks
// nest, and one that is not closed reaches to the end of its text. A tag
// between backticks only speaks about the tag.
//
// In the place of what was removed stands a mark that says of what kind it
// was: "[redacted: github token]", "[private]". Redacting a text twice is
// redacting it once. In JSON the strings are redacted, as what they say and
// not as how they are spelled, and only the literals that changed are written
// anew: the rest keeps its bytes, and JSON stays JSON.
//
// Time is linear in the length of the text, whatever stands in it.
package redact

// Mode says what becomes of secrets.
type Mode string

// The modes.
const (
	// Off keeps everything as it is.
	Off Mode = "off"
	// Search keeps secrets in the original record and nowhere else: not in
	// what is searched, summarised, shown to a model or answered by a tool.
	Search Mode = "search"
	// All removes secrets before anything is stored.
	All Mode = "all"
)
