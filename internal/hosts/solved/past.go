package solved

import (
	"context"
	"iter"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Past is a result that the record has.
type Past struct {
	Failure
	Message store.MessageID
	Time    time.Time
}

// Results yields the results of the calls of a conversation since a time, as they may have failed: not every
// host says that they have.
func Results(ctx context.Context, r store.Reader, c store.ConversationID, since time.Time) iter.Seq2[Past, error] {
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
				f := Failure{Call: calls[res.CallID], Output: text(res.Output), Known: res.IsError}
				if !yield(Past{f, m.ID, m.Body.Time}, nil) {
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
// were solved before. A session that goes on from another one may have copies of them. With an error,
// there may be more.
func Repeats(ctx context.Context, r Record, in []store.ConversationID, since time.Time) (all []Repeat, err error) {
	seen := map[string]bool{}
	for _, id := range in {
		c, err := r.Conversation(ctx, id)
		if err != nil {
			return all, err
		}
		if c.UpdatedAt.Before(since) {
			continue
		}
		told := map[string]bool{}
		for p, err := range Results(ctx, r, id, since) {
			if err != nil {
				return all, err
			}
			cause, copied := p.Cause(), p.Call.ID+p.Time.String()
			if cause == "" || told[cause] || seen[copied] {
				continue
			}
			s, err := Find(ctx, r, p.Failure, Options{Project: c.Project, Before: p.Time})
			if err != nil {
				return all, err
			}
			if s.Block() != "" {
				told[cause], seen[copied] = true, true
				all = append(all, Repeat{p.Message, s})
			}
		}
	}
	return all, nil
}
