package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/record/redact"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/llms"
)

// Original returns the text of a message, with everything that was moved out of
// it in its place: the text itself of a message that is text alone, else the
// message as a transcript shows it. A record that does not decode is shown as
// it is. Secrets that only the record was to keep ([redact.Search]) are not
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
		text, other := original(ctx, s, m, record)
		return noticed(text), errors.Join(err, other)
	case err != nil:
		return "", err
	}
	return original(ctx, s, m, record)
}

// noticed puts the notice of damage before a text, if it is not there.
func noticed(text string) string {
	if strings.HasPrefix(text, store.DamageNotice) {
		return text
	}
	return store.DamageNotice + "\n" + text
}

func original(ctx context.Context, s Store, m store.Message, record []byte) (string, error) {
	text := transcript(m, record)
	shown, err := shownOf(ctx, s, m)
	if err != nil || strings.Count(shown, redact.SecretMark) <= strings.Count(text, redact.SecretMark) {
		return text, err
	}
	if !MovedOut(m.Body.Parts) {
		return shown, nil
	}
	clean, _ := redact.Redactor{Secrets: true, KeepPrivate: true}.Text(record)
	if clean == nil {
		return shown, nil // whatever it is that the record has, it is not to be seen
	}
	return transcript(m, clean), nil
}

// transcript reads a message back from its record.
func transcript(m store.Message, record []byte) string {
	if m.Format == llms.FormatText {
		return string(record)
	}
	body, err := wire.Decode(m.Format, m.Body.Role, record)
	if err != nil {
		return string(record)
	}
	return body.Render()
}

// shownOf is the text of a message for searches and summaries: less than
// its record, if that has hidden parts.
func shownOf(ctx context.Context, s Store, m store.Message) (string, error) {
	if !MovedOut(m.Body.Parts) {
		return m.Body.Render(), nil
	}
	text, err := s.Text(ctx, store.Node{Message: m.ID})
	if errors.Is(err, store.ErrDamaged) {
		err = nil // the record says so as well
	}
	return string(text), err
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
