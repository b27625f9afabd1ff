package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/redact"
	"github.com/lossless-context/lcm/store"
)

// Title returns the title of a session without what is to be kept out.
func (p Privacy) Title(title string) string {
	out, _ := redact.Redactor{Secrets: p.hides()}.Text([]byte(title))
	if out == nil {
		return title
	}
	return string(out)
}

// hides reports whether secrets are kept out of what is shown.
func (p Privacy) hides() bool { return p.Redact == redact.Search || p.Redact == redact.All }

// clean takes out of messages what is to be kept out of the record. It comes
// before everything else, so that the same message is known again by what is
// stored of it.
func (in *Ingester) clean(ms []Input) ([]Input, error) {
	var out []Input // nil while nothing has changed
	for i, m := range ms {
		cleaned, changed, err := in.cleanOne(m)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(ms), err)
		}
		if changed && out == nil {
			out = slices.Clone(ms)
		}
		if changed {
			out[i] = cleaned
		}
	}
	if out == nil {
		return ms, nil
	}
	return out, nil
}

func (in *Ingester) cleanOne(m Input) (Input, bool, error) {
	said, changed, err := remove(redact.Redactor{Secrets: in.privacy.Redact == redact.All}, m.Message)
	if err != nil {
		return m, false, err
	}
	if changed {
		m.Message, m.Flags = said, m.Flags|store.FlagRedacted
	}
	if in.privacy.Redact != redact.Search {
		return m, changed, nil
	}
	shown, hidden, err := mask(m.Message)
	if err != nil || !hidden {
		return m, changed, err
	}
	if m.Raw.Bytes == nil {
		// The record is what was said, not what is shown of it.
		format, record, _, err := recordOf(m.Message)
		if err != nil {
			return m, false, err
		}
		shown.Raw = llms.Raw{Format: format, Bytes: record}
	}
	m.Message, m.masked = shown, true
	return m, true, nil
}

// mask hides the secrets in what is shown of a message. Its record stays.
func mask(m llms.Message) (llms.Message, bool, error) {
	return rewrite(redact.Redactor{Secrets: true, KeepPrivate: true}, m)
}

// remove takes what r finds out of a message and out of its record.
func remove(r redact.Redactor, m llms.Message) (llms.Message, bool, error) {
	raw, _ := r.Text(m.Raw.Bytes)
	if raw == nil && !r.Secrets && (m.Raw.Bytes != nil || !mayBePrivate(m.Parts) && m.Meta == nil) {
		return m, false, nil // what is shown comes from the record
	}
	out, changed, err := rewrite(r, m)
	if raw != nil {
		out.Raw.Bytes, changed = raw, true
	}
	return out, changed, err
}

// rewrite replaces what r finds in what is shown of a message.
func rewrite(r redact.Redactor, m llms.Message) (llms.Message, bool, error) {
	plain := m
	plain.ID, plain.Time, plain.Raw = "", time.Time{}, llms.Raw{}
	encoded, err := llms.Encode(llms.FormatLCM, plain)
	if err != nil {
		return m, false, fmt.Errorf("the message cannot be written down: %w", err)
	}
	changed, _ := r.Text(encoded)
	if changed == nil {
		return m, false, nil
	}
	out, err := llms.Decode(llms.FormatLCM, m.Role, changed)
	if err != nil {
		return m, false, fmt.Errorf("the message without what is to be kept out: %w", err)
	}
	out.Role, out.ID, out.Time, out.Raw = m.Role, m.ID, m.Time, m.Raw
	return out, true, nil
}

// mayBePrivate rules out quickly that anything in parts is marked as private.
func mayBePrivate(parts []llms.Part) bool {
	tag := func(text string) bool {
		return strings.Contains(text, "rivate") || strings.Contains(text, "RIVATE") || strings.Contains(text, `\u00`)
	}
	return slices.ContainsFunc(parts, func(p llms.Part) bool {
		switch {
		case p.Call != nil && tag(p.Call.Arguments), p.Result != nil && mayBePrivate(p.Result.Output), tag(p.Text):
			return true
		case p.Blob != nil:
			return bytes.Contains(p.Blob.Data, []byte("rivate")) || bytes.Contains(p.Blob.Data, []byte("RIVATE")) || tag(p.Blob.Name)
		}
		return len(p.Extra) > 0 && json.Valid(p.Extra) && tag(string(p.Extra))
	})
}
