// Package redact finds and replaces text that should not be stored: secrets
// (keys, tokens, passwords in URLs, private keys) and blocks that a person has
// marked as private. Package ingest decides when to use it.
//
// A secret is found by its shape. The shapes of providers' keys are data (the
// rule file of gitleaks, and one of this project in the same format), tried
// where one of their keywords occurs. Detectors in Go find secrets that need
// more than an expression: a private key to its end, the password in a URL, a
// value that is assigned to the name of a secret and looks like one. Detection
// is conservative: a hash, a UUID or an example in a manual is not a secret. A
// secret without a shape, such as a word as a password, is not found; mark it as
// private.
//
// A private block is the text between <private> and </private>, in upper or
// lower case, with attributes and line breaks in the tag, and with the signs of
// the tag in any common escape (&lt;, \u003c, %3C). Blocks nest, may begin in
// one part of a message and end in another, and an unclosed block reaches to the
// end. A tag between backticks is not a tag.
//
// A mark replaces each finding and names its kind: "[redacted: github pat]",
// "[private]". Redacting twice changes nothing more. In JSON the decoded strings
// are redacted, and only the changed literals are rewritten: the rest keeps its
// bytes, and JSON stays JSON.
//
// Time is linear in the length of any text.
package redact

// Mode says how secrets are treated.
type Mode string

// The modes.
const (
	// Off keeps secrets.
	Off Mode = "off"
	// Search keeps secrets only in the original record: they are not searched,
	// summarised, shown to a model or returned by a tool.
	Search Mode = "search"
	// All removes secrets before anything is stored.
	All Mode = "all"
)

// Counts counts the replacements.
type Counts struct{ Secrets, Private int }

// Redactor replaces secrets and private blocks. The zero value replaces only
// private blocks.
type Redactor struct {
	// Secrets replaces secrets, KeepPrivate leaves private blocks alone.
	Secrets     bool
	KeepPrivate bool
}

// Text redacts a text. It returns nil if it found nothing. JSON stays JSON, also
// inside a string of JSON.
func (r Redactor) Text(text []byte) ([]byte, Counts) {
	e := &editor{Redactor: r}
	return e.text(text, 0), e.counts
}

// Data redacts the content of a file. It is Text for UTF-8 and UTF-16; in other
// content it removes only private blocks.
func (r Redactor) Data(data []byte) ([]byte, Counts) {
	e := &editor{Redactor: r}
	return e.data(data, 0), e.counts
}

// edit replaces the findings in one text.
func (e *editor) edit(text []byte, binary bool) []byte {
	if e.with != nil {
		return e.with(text, binary)
	}
	var out []byte
	if !e.KeepPrivate {
		if found := Private(text); len(found) > 0 {
			e.counts.Private += len(found)
			out = Replace(text, found)
			text = out
		}
	}
	if e.Secrets && !binary {
		if found := Secrets(text); len(found) > 0 {
			e.counts.Secrets += len(found)
			out = Replace(text, found)
		}
	}
	return out
}

// Replace replaces each finding with its mark.
func Replace(text []byte, found []Finding) []byte {
	out := make([]byte, 0, len(text))
	at := 0
	for _, f := range found {
		out = append(out, text[at:f.Start]...)
		out = append(out, f.mark()...)
		at = f.End
	}
	return append(out, text[at:]...)
}

// SecretMark begins the mark that replaces a secret.
const SecretMark = "[redacted: "

// mark returns the text that replaces a finding.
func (f Finding) mark() string {
	if f.Kind == "private" {
		return PrivateMark
	}
	return SecretMark + f.Kind + "]"
}
