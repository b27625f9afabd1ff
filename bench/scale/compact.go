package scale

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// enoughPasses is the least number of passes for a mean, passesEach about how many of
// them are in one database.
const (
	enoughPasses = 200
	passesEach   = 50
)

// passes is the time of passes of compaction: of all of them, and from each call
// of the summariser to the next.
type passes struct {
	all, cpu time.Duration
	each     []time.Duration
}

// compact folds with a summariser that takes no time, so that the time is the engine's
// own. A short conversation takes a handful of passes, whose mean would be chance: then
// compact folds others of the same length too, in databases of about the same size.
func (b *bench) compact(ctx context.Context) error {
	var took passes
	for i := range min(len(b.convs), b.Samples) {
		if err := b.fold(ctx, b.pick(i), &took); err != nil {
			return err
		}
	}
	if len(b.convs) == 1 && b.Passes > 0 {
		number := max(1, passesEach/b.Passes)
		for before := 0; before < b.Passes && b.Passes < enoughPasses; {
			before = b.Passes
			if err := b.foldOthers(ctx, number, &took); err != nil {
				return err
			}
		}
	}
	if b.Passes > 0 {
		b.PassMedian = quantiles(took.each).P50
		b.PassMillis = harness.Millis(took.all) / float64(b.Passes)
		b.PassCPUMillis = harness.Millis(took.cpu) / float64(b.Passes)
	}
	return nil
}

func (b *bench) fold(ctx context.Context, id store.ConversationID, took *passes) error {
	b.summariser.calls = b.summariser.calls[:0]
	cpu := harness.CPUTime()
	// Spread conversations are below every threshold; fold them anyway.
	r, err := b.Engine.Compact(ctx, id, lcm.CompactOptions{Budget: b.Budget, Full: len(b.convs) > 1})
	if err != nil {
		return err
	}
	took.cpu += harness.CPUTime() - cpu
	took.all += r.Elapsed
	b.Passes += r.Passes
	for i := 1; i < len(b.summariser.calls); i++ {
		took.each = append(took.each, b.summariser.calls[i].Sub(b.summariser.calls[i-1]))
	}
	return nil
}

// foldOthers folds a number of conversations as long as the one there is, in a
// database of their own.
func (b *bench) foldOthers(ctx context.Context, number int, took *passes) error {
	return b.apart(ctx, func(others *bench) error {
		if err := others.open(ctx); err != nil {
			return err
		}
		ids := make([]store.ConversationID, number)
		for i := range ids {
			session := others.Engine.Session(key(i))
			if err := session.Append(ctx, others.make(b.Messages+b.Samples)...); err != nil {
				return err
			}
			conv, err := session.Conversation(ctx)
			if err != nil {
				return err
			}
			ids[i] = conv.ID
		}
		for _, id := range ids {
			if err := others.fold(ctx, id, took); err != nil {
				return fmt.Errorf("conversation %d: %w", id, err)
			}
		}
		b.Passes += others.Passes
		return nil
	})
}

// instant is a summariser that takes no time: it repeats the beginnings of its
// first sources. It notes when it is called.
type instant struct{ calls []time.Time }

// Summarise implements [summary.Summariser].
func (in *instant) Summarise(_ context.Context, r summary.Request) (summary.Result, error) {
	in.calls = append(in.calls, time.Now())
	const end = summary.Footer + "the rest"
	left := 3 * r.Target
	var b strings.Builder
	b.Grow(left + len(r.Sources) + len(end))
	for _, s := range r.Sources {
		text := s.Text
		if most := min(400, left); len(text) > most {
			text = strings.ToValidUTF8(text[:most], "")
		}
		b.WriteString(strings.ReplaceAll(text, summary.Footer, ""))
		b.WriteByte('\n')
		if left -= len(text); left <= 0 {
			break
		}
	}
	b.WriteString(end)
	return summary.Result{Text: b.String(), Method: "instant"}, nil
}
