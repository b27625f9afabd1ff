package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Original returns the text of a message, with everything that was moved out of
// it in its place: the text itself of a message that is text alone, else the
// message as a transcript shows it. A record that does not decode is shown as
// it is. Secrets that only the record was to keep ([privacy.Search]) are not
// shown: models read the records that are opened here.
//
// A record that changed since it arrived is returned behind [store.DamageNotice], beside an
// error that is [store.ErrDamaged].
func Original(ctx context.Context, s Store, m store.Message) (string, error) {
	record, err := s.Record(ctx, m.ID)
	if err == nil && m.Damaged {
		err = fmt.Errorf("the body of %s is %w", m.ID, store.ErrDamaged)
		record = nil
	}
	switch {
	case errors.Is(err, store.ErrDamaged) && record == nil:
		return noticed(m.Body.Render()), err
	case errors.Is(err, store.ErrDamaged):
		text, other := original(m, record)
		return noticed(text), errors.Join(err, other)
	case err != nil:
		return "", err
	}
	return original(m, record)
}

// noticed puts the notice of damage before a text, if it is not there.
func noticed(text string) string {
	if strings.HasPrefix(text, store.DamageNotice) {
		return text
	}
	return store.DamageNotice + "\n" + text
}

// original reads a message back from its record. One that is masked goes through the function
// that masked its body.
func original(m store.Message, record []byte) (string, error) {
	body := llms.Message{Role: m.Body.Role, Parts: []llms.Part{{Kind: llms.PartText, Text: string(record)}}}
	if m.Format != llms.FormatText {
		if decoded, err := wire.Decode(m.Format, m.Body.Role, record); err == nil {
			body = decoded
		}
	}
	if m.Flags&store.FlagMasked != 0 {
		shown, err := ingest.Shown(ingest.Privacy{Redact: privacy.Search}, body)
		if err != nil {
			return "", err
		}
		body = shown
	}
	return body.Render(), nil
}

// MovedOut reports that some of a message's content is stored apart.
func MovedOut(parts []llms.Part) bool {
	for _, p := range parts {
		if p.Ref != nil || p.Result != nil && MovedOut(p.Result.Output) || p.Call != nil && strings.Contains(p.Call.Arguments, "file_") {
			return true
		}
	}
	return false
}
