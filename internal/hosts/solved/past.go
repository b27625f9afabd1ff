package solved

import (
	"context"
	"iter"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Past is a failure that the record has.
type Past struct {
	Failure
	Message store.MessageID
	Time    time.Time
}

// Failures yields the failures of a conversation since a time.
func Failures(ctx context.Context, r store.Reader, c store.ConversationID, since time.Time) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		calls := map[string]llms.ToolCall{}
		for m, err := range r.Messages(ctx, store.MessageQuery{Conversation: c, NoRaw: true}) {
			if err != nil {
				yield(Past{}, err)
				return
			}
			for _, call := range m.Body.ToolCalls() {
				calls[call.ID] = call
			}
			if m.Body.Time.Before(since) {
				continue
			}
			for _, res := range m.Body.ToolResults() {
				f := Failure{Call: calls[res.CallID], Output: (llms.Message{Parts: res.Output}).PlainText(), Known: true}
				if res.IsError && !yield(Past{f, m.ID, m.Body.Time}, nil) {
					return
				}
			}
		}
	}
}

// Repeat is a failure that had been solved before it came.
type Repeat struct {
	Message store.MessageID
	*Solution
}

// Repeats returns the failures of conversations since a time of which it would have been told how they
// were solved before.
func Repeats(ctx context.Context, r Record, in []store.Conversation, since time.Time) (all []Repeat, err error) {
	for _, c := range in {
		told := map[string]bool{}
		for p, err := range Failures(ctx, r, c.ID, since) {
			if err != nil {
				return nil, err
			}
			cause := p.Cause()
			if cause == "" || told[cause] {
				continue
			}
			s, err := Find(ctx, r, p.Failure, Options{Project: c.Project, Before: p.Time})
			if err != nil {
				return nil, err
			}
			if told[cause] = s.Block() != ""; told[cause] {
				all = append(all, Repeat{p.Message, s})
			}
		}
	}
	return all, nil
}
