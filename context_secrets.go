package lcm

import (
	"context"
	"errors"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// unmasked returns a message of a session's own view with its secrets. An agent must not
// lose a token that the user has just given it; searches, summaries and tools show
// masked text. Content in a payload stays masked.
func (e *Engine) unmasked(ctx context.Context, m store.Message) (store.Message, error) {
	if m.Flags&store.FlagMasked == 0 {
		return m, nil
	}
	record, err := e.store.Record(ctx, m.ID)
	if errors.Is(err, store.ErrDamaged) {
		return m, nil // its text is undamaged
	}
	if err != nil {
		return m, err
	}
	said, err := wire.Decode(m.Format, m.Body.Role, record)
	if err != nil {
		return m, nil
	}
	if parts, ok := unmaskedParts(m.Body.Parts, said.Parts); ok {
		m.Body.Parts = parts
		m.Tokens = llms.CountMessage(e.settings.counter, m.Body)
	}
	return m, nil
}

// unmaskedParts returns the parts of said, with the parts of shown where those
// refer to a payload. It reports false if the two are not the same message.
func unmaskedParts(shown, said []llms.Part) ([]llms.Part, bool) {
	if len(shown) != len(said) {
		return nil, false
	}
	out := make([]llms.Part, len(shown))
	for i, p := range shown {
		q := said[i]
		if p.Kind != q.Kind || (p.Call == nil) != (q.Call == nil) || (p.Result == nil) != (q.Result == nil) {
			return nil, false
		}
		switch {
		case p.Ref != nil:
			out[i] = p
		case p.Call != nil && strings.Contains(p.Call.Arguments, "file_") && !strings.Contains(q.Call.Arguments, "file_"):
			out[i] = p
		case p.Result != nil:
			output, ok := unmaskedParts(p.Result.Output, q.Result.Output)
			if !ok {
				return nil, false
			}
			r := *q.Result
			r.Name, r.Output = p.Result.Name, output
			q.Result = &r
			out[i] = q
		default:
			out[i] = q
		}
	}
	return out, true
}
