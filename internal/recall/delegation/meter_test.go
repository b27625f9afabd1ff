package delegation_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// dear is a model whose provider counts tokens its own way.
type dear struct{ cost func(words int) llms.Usage }

func (dear) Name() string { return "test/dear" }

func (d dear) Stream(_ context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		words := 0
		for _, m := range r.Messages {
			words += llms.Estimate.Count(m.Render())
		}
		yield(llms.Event{Kind: llms.EventEnd, Usage: d.cost(words)}, nil)
	}
}

// reading is a sub-agent that calls its model, reads a page, and does so until
// one of the two is refused.
func reading(model llms.Model) func(context.Context, *subAgent, string) (string, error) {
	return func(ctx context.Context, s *subAgent, task string) (string, error) {
		engine := s.child.Meter.Engine(model)
		transcript := []llms.Message{llms.User(task)}
		for {
			for _, err := range engine.Stream(ctx, llms.Request{Messages: transcript}) {
				if err != nil {
					return "", err
				}
			}
			page := s.expand(ctx, map[string]any{"messageIds": []string{"msg_1"}})
			if strings.HasPrefix(page, "Error: ") {
				return says("it is long", "msg_1"), nil // the call after the refusal
			}
			transcript = append(transcript, llms.User(page))
		}
	}
}

// Whatever a provider counts, a question stays within its budget, and reading
// stops while there is room for the answer.
func TestTheBudgetHoldsWhateverAProviderCounts(t *testing.T) {
	for name, cost := range map[string]func(words int) llms.Usage{
		"as estimated": func(n int) llms.Usage { return llms.Usage{InputTokens: n, OutputTokens: 20} },
		"twice":        func(n int) llms.Usage { return llms.Usage{InputTokens: 2 * n, OutputTokens: 20} },
		"half":         func(n int) llms.Usage { return llms.Usage{InputTokens: n / 2, OutputTokens: 20} },
		"not at all":   func(int) llms.Usage { return llms.Usage{} },
	} {
		for _, budget := range []int{3_000, 20_000, 60_000} {
			runner := &scripted{lazy: true}
			runner.do = reading(dear{cost})
			f := newFixture(t, func(c *delegation.Config) {
				c.Runner, c.Limits = runner, recall.Limits{ModelTokens: budget, PageTokens: 1000}
			})
			c := f.talk("s", "the anchor log\n"+strings.Repeat("nothing of note in the log today\n", 2000))
			a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How long is the log?", Where: recall.Where{Current: c}})
			if err != nil {
				t.Fatal(err)
			}
			if a.Usage.InputTokens > budget || a.Usage.Calls < 2 || a.Method != recall.MethodDelegated || !a.Truncated {
				t.Errorf("%s, budget %d: %s (%s), truncated %v, %+v", name, budget, a.Method, a.Reason, a.Truncated, a.Usage)
			}
			if a.Usage.InputTokens < budget/3 {
				t.Errorf("%s, budget %d: only %d tokens of it were used", name, budget, a.Usage.InputTokens)
			}
		}
	}
}
