// Package redact finds what should not be remembered: secrets (keys, tokens,
// passwords in addresses, private keys) and what a person has marked as
// private. It finds and replaces; when to is for package ingest to say.
//
// A secret is found by its shape. The shapes of providers' keys are data (the
// rule file of gitleaks, and one of this project in the same format), tried
// where a keyword of theirs occurs. Detectors in Go find what needs more than
// an expression: a private key to its end, the password in an address, the
// value that is assigned to the name of a secret and looks like one. It is
// conservative: a hash, a UUID or an example in a manual is none. What has no
// shape (a word as a password) is not found; mark it as private.
//
// A private block is what stands between <private> and </private>, in upper or
// lower case, with attributes and line breaks in the tag, and however a text
// spells the signs of a tag (&lt;, \u003c, %3C). Blocks nest, may begin in one
// part of a message and end in another, and one that is not closed reaches to
// the end. A tag between backticks only speaks about the tag.
//
// In the place of what was removed stands a mark that says of what kind it
// was: "[redacted: github pat]", "[private]". Redacting a text twice is
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
	e := &editor{Redactor: r}
	return e.text(text, 0), e.counts
}

// Data redacts the content of a file. It is Text for a text in UTF-8 or
// UTF-16; of anything else only private blocks are removed.
func (r Redactor) Data(data []byte) ([]byte, Counts) {
	e := &editor{Redactor: r}
	return e.data(data, 0), e.counts
}

// edit replaces what is found in one text.
func (e *editor) edit(text []byte, binary bool) []byte {
	if e.with != nil {
		return e.with(text, binary)
	}
	var out []byte
	if !e.KeepPrivate {
		if found := Private(text); len(found) > 0 {
			e.counts.Private += len(found)
			out = replace(text, found)
			text = out
		}
	}
	if e.Secrets && !binary {
		if found := Secrets(text); len(found) > 0 {
			e.counts.Secrets += len(found)
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

// SecretMark begins what stands in the place of a secret.
const SecretMark = "[redacted: "

// mark is what stands in the place of a finding.
func (f Finding) mark() string {
	if f.Kind == "private" {
		return PrivateMark
	}
	return SecretMark + f.Kind + "]"
}
