package lcm_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// windowed is a model that refuses requests above its window, as providers do.
type windowed struct {
	llms.Model
	window  int
	refused *atomic.Int32
}

func (m windowed) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	size := llms.Estimate.Count(r.System)
	for _, t := range r.Tools {
		size += llms.Estimate.Count(t.Name + t.Description + string(t.Parameters))
	}
	for _, said := range r.Messages {
		size += llms.Estimate.Count(said.Render())
	}
	if size <= m.window {
		return m.Model.Stream(ctx, r)
	}
	m.refused.Add(1)
	return func(yield func(llms.Event, error) bool) {
		yield(llms.Event{}, llms.Classify(llms.Failure{Provider: "test", Status: http.StatusRequestEntityTooLarge, Message: "the request is too large"}))
	}
}

// The pages fit the window of the model that reads them. It is known once the model has
// refused a request, and the next question has no request refused.
func TestPagesFitTheWindowOfTheModel(t *testing.T) {
	s := newStack(t, 2)
	for _, window := range []int{8_000, 16_000, 32_000, 64_000} {
		var refused atomic.Int32
		model := windowed{llmtest.New(pager(s.leaves, false, false)), window, &refused}
		for n, most := range []int32{4, 0} {
			refused.Store(0)
			a, err := s.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(s.leaves...), Prompt: withWords, Model: named{model, fmt.Sprint("test/", window)}})
			if err != nil || a.Method != recall.MethodDelegated || a.Answer != needle || refused.Load() > most {
				t.Errorf("a window of %d, question %d, %d refused: %v, %s (%s) %q", window, n+1, refused.Load(), err, a.Method, a.Reason, a.Answer)
			}
			if a.TotalSourceTokens > window || a.Usage.InputTokens > recall.DefaultModelTokens {
				t.Errorf("a window of %d: %d tokens of the record, %+v", window, a.TotalSourceTokens, a.Usage)
			}
		}
	}
	var refused atomic.Int32
	a, err := s.session.Ask(t.Context(), recall.Question{SummaryIDs: summaries(s.leaves...), Prompt: withWords, Model: windowed{llmtest.New(pager(s.leaves, false, false)), 500, &refused}})
	if err != nil || a.Method != recall.MethodEvidence || refused.Load() != 1 {
		t.Errorf("a window that the task does not fit: %v, %d refused, %s (%s)", err, refused.Load(), a.Method, a.Reason)
	}
}

type named struct {
	llms.Model
	name string
}

func (m named) Name() string { return m.name }
