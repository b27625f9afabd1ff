package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Title returns the title of a session without private blocks and secrets.
func Title(p Privacy, title string) string {
	out, _ := privacy.Redactor{Secrets: hides(p)}.Text([]byte(title))
	if out == nil {
		return title
	}
	return string(out)
}

// Shown returns a message as it may be shown: without its record and, unless Redact is
// off, without secrets.
func Shown(p Privacy, m llms.Message) (llms.Message, error) {
	m.Raw = llms.Raw{}
	if !hides(p) {
		return m, nil
	}
	m, _, err := rewrite(privacy.Redactor{Secrets: true, KeepPrivate: true}, m)
	return m, err
}

// hides reports whether secrets are masked or removed.
func hides(p Privacy) bool { return p.Redact == privacy.Search || p.Redact == privacy.All }

// clean removes private blocks and secrets from messages. It runs first, so that
// identities are those of the stored form.
func (in *Ingester) clean(ms []Input) ([]input, error) {
	out := make([]input, len(ms))
	for i, m := range ms {
		var err error
		if out[i], err = in.cleanOne(m); err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(ms), err)
		}
	}
	return out, nil
}

func (in *Ingester) cleanOne(given Input) (input, error) {
	m := input{Input: given}
	remover := privacy.Redactor{Secrets: in.privacy.Redact == privacy.All}
	if m.Raw.Bytes != nil {
		// Most records have nothing to hide, and looking for everything at once takes half the time
		// of looking for private blocks and then for secrets.
		if found, _ := (privacy.Redactor{Secrets: hides(in.privacy)}).Text(m.Raw.Bytes); found == nil {
			body := m.Message
			body.Raw = llms.Raw{}
			if _, changed, err := remove(remover, body); err != nil || !changed {
				return m, err
			}
		}
	}
	said, changed, err := remove(remover, m.Message)
	if err != nil {
		return m, err
	}
	if changed {
		m.Message, m.Flags = said, m.Flags|store.FlagRedacted
	}
	if in.privacy.Redact != privacy.Search {
		return m, nil
	}
	hider := privacy.Redactor{Secrets: true, KeepPrivate: true}
	if m.Raw.Bytes != nil {
		// The body comes from the record: if the record has no secrets, the
		// body has none.
		if found, _ := hider.Text(m.Raw.Bytes); found == nil {
			return m, nil
		}
		m.Flags |= store.FlagMasked
	}
	shown, hidden, err := rewrite(hider, m.Message)
	if err != nil || !hidden {
		return m, err
	}
	whole := m.Message
	if m.Raw.Bytes == nil {
		// The record keeps the message with its secrets.
		format, record, _, err := recordOf(m.Message)
		if err != nil {
			return m, err
		}
		shown.Raw = llms.Raw{Format: format, Bytes: record}
	}
	m.Message, m.Flags, m.said = shown, m.Flags|store.FlagMasked, &whole
	return m, nil
}

// Clean removes from a text what may not be stored: private blocks and, if Redact says so,
// secrets.
func (in *Ingester) Clean(text string) string {
	if out, _ := (privacy.Redactor{Secrets: in.privacy.Redact == privacy.All}).Text([]byte(text)); out != nil {
		return string(out)
	}
	return text
}

// AppendLines stores a message with a file of lines that are cleaned already. They are masked one by one, so
// that no secret reaches from one into another.
func (in *Ingester) AppendLines(ctx context.Context, id store.ConversationID, m Input, name, mime string, lines [][]byte) (Stored, error) {
	file := func(lines [][]byte) llms.Part {
		return llms.Part{Kind: llms.PartBlob, Blob: &llms.Blob{Name: name, MIME: mime, Data: append(bytes.Join(lines, []byte("\n")), '\n')}}
	}
	ready := input{Input: m}
	ready.Parts = append(slices.Clone(m.Parts), file(lines))
	whole, hidden := ready.Message, false
	if in.privacy.Redact == privacy.Search {
		lines = slices.Clone(lines)
		for i, line := range lines {
			if shown, _ := (privacy.Redactor{Secrets: true, KeepPrivate: true}).Text(line); shown != nil {
				lines[i], hidden = shown, true
			}
		}
	}
	if hidden {
		format, record, _, err := recordOf(whole)
		if err != nil {
			return Stored{}, err
		}
		ready.Parts = append(slices.Clone(m.Parts), file(lines))
		ready.Raw, ready.Flags, ready.said = llms.Raw{Format: format, Bytes: record}, m.Flags|store.FlagMasked, &whole
	}
	return in.append(ctx, id, []input{ready})
}

// Masked returns the mask of a stored message whose body shows secrets. It is for
// messages that were stored before masking was switched on, or masked by rules that
// found less.
func (in *Ingester) Masked(m store.Message, record []byte) (store.Mask, bool, error) {
	if m.Flags&store.FlagErased != 0 || sha256.Sum256(record) != m.SHA256 {
		return store.Mask{}, false, nil
	}
	if m.Flags&store.FlagMasked != 0 {
		_, shows, err := rewrite(privacy.Redactor{Secrets: true, KeepPrivate: true}, m.Body)
		if err != nil || !shows {
			return store.Mask{}, false, err
		}
		m.Flags &^= store.FlagMasked
	}
	said := m.Body
	if len(store.Refs(said.Parts)) > 0 {
		whole, err := wire.Decode(m.Format, m.Body.Role, record)
		if err != nil {
			return store.Mask{}, false, nil // only the body can be masked
		}
		said.Parts = whole.Parts
	}
	said.Raw = llms.Raw{Format: m.Format, Bytes: record}
	masking := *in
	masking.privacy = Privacy{Redact: privacy.Search}
	input, err := masking.cleanOne(Input{Message: said, Flags: m.Flags})
	if err != nil || input.Flags&store.FlagMasked == 0 {
		return store.Mask{}, false, err
	}
	p, err := masking.prepare(input, nil)
	if err != nil || p.row.SHA256 != m.SHA256 {
		return store.Mask{}, false, err
	}
	return store.Mask{ID: m.ID, Row: p.row, Payloads: p.payloads}, true, nil
}

// Outgoing returns a stored message in the form that may leave the machine: without
// private blocks and, unless Redact is off, without secrets. Raw is its record. changed
// says that the record is not the stored one.
func Outgoing(p Privacy, m store.Message, record []byte) (out llms.Message, changed bool, err error) {
	said := m.Body
	if len(store.Refs(said.Parts)) > 0 {
		if whole, err := wire.Decode(m.Format, m.Body.Role, record); err == nil {
			said.Parts = whole.Parts
		}
	}
	said.Raw = llms.Raw{Format: m.Format, Bytes: record}
	return remove(privacy.Redactor{Secrets: hides(p)}, said)
}

// remove removes the findings of r from a message and from its record. A record with a
// private block that spans several parts cannot be edited in place: the message as it is
// then becomes the record.
func remove(r privacy.Redactor, m llms.Message) (llms.Message, bool, error) {
	joined := false
	m.Parts = joinedParts(m.Parts, &joined)
	out, changed, err := rewrite(r, m)
	if err != nil || m.Raw.Bytes == nil {
		return out, changed || joined, err
	}
	if joined {
		raw, err := wire.Encode(llms.FormatLCM, llms.Message{Role: out.Role, Parts: out.Parts, Meta: out.Meta})
		if err != nil {
			return m, false, fmt.Errorf("the message cannot be encoded: %w", err)
		}
		out.Raw = llms.Raw{Format: llms.FormatLCM, Bytes: raw}
	} else if clean, _ := r.Text(m.Raw.Bytes); clean != nil {
		out.Raw.Bytes, changed = clean, true
	}
	return out, changed || joined, nil
}

// joinedParts removes private blocks that span several parts of a message. It joins texts
// and files, the parts of each result, and the strings of each text or call that is JSON.
func joinedParts(parts []llms.Part, changed *bool) []llms.Part {
	out := slices.Clone(parts)
	var texts [][]byte
	var at []int
	for i := range out {
		p := &out[i]
		p.Text = withoutSplit(p.Text, changed)
		switch {
		case p.Call != nil:
			c := *p.Call
			c.Arguments = withoutSplit(c.Arguments, changed)
			p.Call = &c
		case p.Result != nil:
			r := *p.Result
			r.Output = joinedParts(r.Output, changed)
			p.Result = &r
		case p.Blob != nil && len(p.Blob.Data) > 0:
			texts, at = append(texts, p.Blob.Data), append(at, i)
		case p.Kind == llms.PartText && p.Text != "":
			texts, at = append(texts, []byte(p.Text)), append(at, i)
		}
	}
	if len(texts) < 2 {
		return out
	}
	for i, found := range privacy.PrivateTexts(texts) {
		alone := privacy.Private(texts[i])
		if slices.Equal(found, alone) {
			continue
		}
		now := privacy.Replace(texts[i], found)
		*changed = true
		if p := &out[at[i]]; p.Blob != nil {
			b := *p.Blob
			b.Data = now
			p.Blob = &b
		} else {
			p.Text = string(now)
		}
	}
	return out
}

// withoutSplit removes private blocks that span several strings of a JSON text.
func withoutSplit(text string, changed *bool) string {
	split := privacy.SplitBlocks([]byte(text))
	if len(split) == 0 {
		return text
	}
	*changed = true
	return string(privacy.Rewrite([]byte(text), func(text []byte) []byte { return split[string(text)] }))
}

// rewrite replaces the findings of r in the parts and metadata of a message.
func rewrite(r privacy.Redactor, m llms.Message) (llms.Message, bool, error) {
	e := partsEditor{Redactor: r}
	out := m
	out.Parts = e.parts(m.Parts)
	if len(m.Meta) > 0 {
		encoded, err := wire.Encode(llms.FormatLCM, llms.Message{Role: m.Role, Meta: m.Meta})
		if err != nil {
			return m, false, fmt.Errorf("the message cannot be encoded: %w", err)
		}
		if changed, _ := r.Text(encoded); changed != nil {
			meta, err := wire.Decode(llms.FormatLCM, m.Role, changed)
			if err != nil {
				return m, false, fmt.Errorf("the redacted message cannot be decoded: %w", err)
			}
			out.Meta, e.changed = meta.Meta, true
		}
	}
	if !e.changed {
		return m, false, nil
	}
	return out, true, nil
}

// partsEditor redacts the parts of a message.
type partsEditor struct {
	privacy.Redactor
	changed bool
}

func (e *partsEditor) text(s string) string {
	if now, _ := e.Text([]byte(s)); now != nil {
		e.changed = true
		return string(now)
	}
	return s
}

func (e *partsEditor) parts(parts []llms.Part) []llms.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		out[i].Text = e.text(p.Text)
		if p.Call != nil {
			c := *p.Call
			c.Name, c.Arguments = e.text(c.Name), e.text(c.Arguments)
			out[i].Call = &c
		}
		if p.Result != nil {
			r := *p.Result
			r.Name, r.Output = e.text(r.Name), e.parts(r.Output)
			out[i].Result = &r
		}
		if p.Blob != nil {
			b := *p.Blob
			b.Name, b.URL = e.text(b.Name), e.text(b.URL)
			if now, _ := e.Data(b.Data); now != nil {
				b.Data, e.changed = now, true
			}
			out[i].Blob = &b
		}
		if now, _ := e.Text(p.Extra); now != nil {
			out[i].Extra, e.changed = now, true
		}
	}
	return out
}
