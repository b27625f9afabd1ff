package delegation

import (
	"context"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// leastForLater is the length of an answer below which what the user said is left out.
const leastForLater = 900

// addLater adds what the user said about the question. What holds now is shown by its date,
// not judged.
func (e *extract) addLater(ctx context.Context, p *plan, all []candidate, question string) error {
	if e.most < leastForLater {
		return nil
	}
	var firsts []store.Message
	for _, c := range all[:min(recall.DefaultLimit, len(all))] {
		firsts = append(firsts, c.msg)
	}
	of := store.Search{Pattern: asWords(question), Since: p.time.from, Before: p.time.to}
	lookup.Narrow(&of, p.scope)
	said, err := lookup.Said(ctx, e.config.Store, of, firsts)
	said = slices.DeleteFunc(said, func(t recall.Turn) bool {
		first := e.passages[0].msg.ID
		return t.Prompt.ID == first && t.Reply == nil
	})
	if len(said) > 0 {
		e.said, e.later = said, strings.TrimSuffix(disarmed(recall.SaidText(said)), "\n")
		e.read += e.count(e.later)
	}
	return err
}
