// Package privacy finds and replaces text that should not be stored: secrets
// (keys, tokens, passwords in URLs, private keys) and blocks that a person has
// marked as private. Package ingest decides when to use it.
//
// A secret is found in three ways. The shapes of providers' keys are data (the rule
// file of gitleaks, and one of this project in the same format), tried where one of
// their keywords occurs. Detectors in Go find what needs more than an expression: a
// private key to its end, the password in a URL, a value that is assigned to the name of
// a secret, the random part of a webhook. And a value that looks random is a secret if a
// hint stands on its line: a word for a credential in one of several languages, or a tool
// that takes passwords (rules/words.tsv, near.go). Random means that its characters alternate between
// letters of both cases and digits, or that its letters follow each other as they do not
// in words. Detection is conservative: a hash, a UUID or an example in a manual is not a
// secret. A secret without a shape, such as a word as a password, is not found; mark it
// as private.
//
// A private block is the text between <private> and </private>. A tag is read as
// it would be shown: escapes are decoded (&lt;, \u003c, %3C, also inside each other), wide,
// accented and look-alike characters become plain ones, and invisible ones are left out.
// The tag may have attributes, blanks and a namespace. Blocks nest, may begin in one part
// of a message and end in another, and an unclosed block reaches to the end. A tag alone
// between backticks is not a tag. One that is written oddly ([private], <_private>,
// <p r i v a t e>, <private without an end), stands after a letter (List<Private>) or among
// other words between backticks is one only if it is closed.
//
// A mark replaces each finding and names its kind: "[redacted: github pat]",
// "[private]". The result is scanned again until nothing is found, so redacting
// twice changes nothing more. JSON is redacted string by string, each with the name
// under which it stands, and at every level of JSON or base64 inside a string, also where
// it is one line of a text: only the changed strings are rewritten, the rest keeps its
// bytes, and JSON stays JSON.
//
// Time is linear in the length of any text.
package privacy

import (
	"encoding/json"

	"github.com/lossless-context/lcm/record"
)

// Mode says how secrets are treated.
type Mode = record.RedactMode

// The modes.
const (
	Off    = record.RedactOff
	Search = record.RedactSearch
	All    = record.RedactAll
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
// inside a string of JSON. Redacting the result finds nothing more.
func (r Redactor) Text(text []byte) ([]byte, Counts) {
	return r.redact(func(e *editor, text []byte) []byte { return e.text(text, 0) }, text)
}

// Data redacts the content of a file. It is Text for UTF-8 and UTF-16; in other
// content it removes only private blocks.
func (r Redactor) Data(data []byte) ([]byte, Counts) {
	return r.redact(func(e *editor, data []byte) []byte { return e.data(data, 0) }, data)
}

// redact edits a text, and edits the result until nothing is found in it. From the
// third time on a finding replaces the whole string that holds it, and then all of
// the text.
func (r Redactor) redact(edit func(*editor, []byte) []byte, text []byte) (out []byte, counts Counts) {
	for try := range 5 {
		e := &editor{Redactor: r, whole: try >= 2}
		now := edit(e, either(out, text))
		if now == nil {
			return out, counts
		}
		if try == 0 {
			counts = e.counts
		}
		out = now
	}
	if json.Valid(text) {
		return []byte(`"` + SecretMark + `secret]"`), counts
	}
	return []byte(SecretMark + "secret]"), counts
}

// edit replaces the findings in one text.
func (e *editor) edit(text []byte, binary bool) []byte {
	if e.with != nil {
		return e.with(text, binary)
	}
	var out []byte
	replace := func(found []Finding, counted *int) {
		if len(found) == 0 {
			return
		}
		*counted += len(found)
		if e.whole {
			found = []Finding{{0, len(text), found[0].Kind}}
		}
		out = Replace(text, found)
		text = out
	}
	if !e.KeepPrivate {
		replace(Private(text), &e.counts.Private)
	}
	if e.Secrets && !binary {
		replace(Secrets(text), &e.counts.Secrets)
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
