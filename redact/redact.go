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

import "bytes"

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

// Counts says how much was replaced.
type Counts struct{ Secrets, Private int }

// Redactor replaces what should not be remembered. The zero value replaces
// private blocks.
type Redactor struct {
	// Secrets replaces secrets, KeepPrivate leaves private blocks alone.
	Secrets     bool
	KeepPrivate bool
}

// Text redacts a text. It returns nil if there was nothing to replace. A text
// that is JSON stays JSON, also where it is only a string inside of JSON.
func (r Redactor) Text(text []byte) ([]byte, Counts) {
	if !r.may(text) {
		return nil, Counts{}
	}
	var n Counts
	return rewriteText(text, func(text []byte) []byte { return r.edit(text, &n) }, 0), n
}

// may rules out quickly what has nothing to replace.
func (r Redactor) may(text []byte) bool {
	if r.Secrets {
		return true
	}
	// The tag may be spelled with escapes, or be in base64.
	return bytes.Contains(text, []byte("rivate")) || bytes.Contains(text, []byte("RIVATE")) || bytes.Contains(text, []byte(`\u00`)) ||
		bytes.Contains(text, []byte("base64")) || len(text) >= minBase64 && isBase64(text)
}

// edit replaces what is found in one text.
func (r Redactor) edit(text []byte, n *Counts) []byte {
	var out []byte
	if !r.KeepPrivate {
		if found := Private(text); len(found) > 0 {
			n.Private += len(found)
			out = replace(text, found)
			text = out
		}
	}
	if r.Secrets {
		if found := Secrets(text); len(found) > 0 {
			n.Secrets += len(found)
			out = replace(text, found)
		}
	}
	return out
}

func replace(text []byte, found []Finding) []byte {
	out := make([]byte, 0, len(text))
	at := 0
	for _, f := range found {
		out = append(out, text[at:f.Start]...)
		out = append(out, f.mark()...)
		at = f.End
	}
	return append(out, text[at:]...)
}

// mark is what stands in the place of a finding.
func (f Finding) mark() string {
	if f.Kind == "private" {
		return PrivateMark
	}
	return "[redacted: " + f.Kind + "]"
}
