package lcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// EraseQuery selects messages to erase. If Messages is set, it selects exactly those, and
// the other conditions are ignored; else a message must meet every condition that is
// set. Conversations without a time or a pattern are erased whole, with those of their
// sub-agents.
type EraseQuery struct {
	Conversations []record.ConversationID // none: all of them
	Messages      []record.MessageID      // exactly these
	Since         time.Time               // messages of this time or later
	Before        time.Time               // messages before this time
	Pattern       string                  // messages whose text matches
	Mode          recall.Mode             // of the pattern; empty is a regular expression
	Cause         string                  // "forget" if empty
}

// Order finds the messages that f selects and returns the order for [Engine.Erase]. A
// regular expression is matched against everything that is stored of a message, its
// original record included.
func (e *Engine) Order(ctx context.Context, f EraseQuery) (order record.EraseRequest, err error) {
	order.Cause = cmp.Or(f.Cause, "forget")
	timed := !f.Since.IsZero() || !f.Before.IsZero()
	switch {
	case f.Messages != nil:
		order.Messages = f.Messages
	case f.Pattern == "" && !timed && len(f.Conversations) == 0:
		err = errors.New("nothing to forget was named: want conversations, messages, a time or a pattern")
	case f.Pattern == "" && !timed:
		order.Conversations, err = withSubAgents(ctx, e.store, f.Conversations)
	case f.Pattern == "":
		order.Messages, err = e.scan(ctx, f, nil)
	case f.Mode == store.FullText:
		order.Messages, err = e.matching(ctx, f)
	default:
		re, wrong := regexp.Compile(f.Pattern)
		if wrong != nil {
			return order, fmt.Errorf("the pattern: %w", wrong)
		}
		order.Quotes = re.MatchString
		order.Messages, err = e.scan(ctx, f, re)
	}
	return order, err
}

// withSubAgents adds the conversations that were begun by those given.
func withSubAgents(ctx context.Context, r store.Reader, ids []record.ConversationID) ([]record.ConversationID, error) {
	all, err := r.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	ids = slices.Clone(ids)
	for i := 0; i < len(ids); i++ {
		for _, c := range all {
			if c.Parent == ids[i] && !slices.Contains(ids, c.ID) {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids, nil
}

// matching lists the messages that have the words of a query.
func (e *Engine) matching(ctx context.Context, f EraseQuery) ([]record.MessageID, error) {
	q := store.Search{
		Mode: store.FullText, Pattern: f.Pattern, Conversations: f.Conversations, Since: f.Since, Before: f.Before,
		Everything: true, Sort: store.ByRecency, Limit: 1000,
	}
	var ids []record.MessageID
	for {
		found, err := e.store.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			if !h.Beside {
				ids = append(ids, h.Message)
			}
		}
		if found.Unfinished {
			return nil, fmt.Errorf("looking for matches: %w", context.DeadlineExceeded)
		}
		if found.Next == nil {
			return ids, nil
		}
		q.After = *found.Next
	}
}

// scan lists the messages of a time that match an expression. It reads the
// original records, which may hold more than the text that is searched.
func (e *Engine) scan(ctx context.Context, f EraseQuery, re *regexp.Regexp) ([]record.MessageID, error) {
	in := f.Conversations
	if in == nil {
		all, err := e.store.Conversations(ctx, store.ConversationQuery{})
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			in = append(in, c.ID)
		}
	}
	var ids []record.MessageID
	for _, id := range in {
		for m, err := range e.store.Messages(ctx, store.MessageQuery{Conversation: id}) {
			if err != nil {
				return nil, err
			}
			if m.Body.Time.Before(f.Since) || !f.Before.IsZero() && !m.Body.Time.Before(f.Before) {
				continue
			}
			matches, err := says(ctx, e.store, m, re)
			if err != nil {
				return nil, err
			}
			if matches {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids, nil
}

// says reports whether anything that is stored of a message matches; a nil re matches all.
func says(ctx context.Context, s Store, m store.Message, re *regexp.Regexp) (bool, error) {
	if re == nil {
		return true, nil
	}
	raw, err := s.Record(ctx, m.ID)
	if err != nil && !errors.Is(err, store.ErrDamaged) { // a damaged message can be erased too
		return false, err
	}
	found := re.Match(raw) || re.MatchString(m.Native)
	privacy.Strings(raw, func(text []byte) { found = found || re.Match(text) })
	if found {
		return true, nil
	}
	text, err := s.Text(ctx, record.ID{Message: m.ID})
	if errors.Is(err, store.ErrDamaged) {
		err = nil
	}
	return re.Match(text), err
}

// Erase removes the content that an order names from the record and from everything
// derived from it, and writes summaries anew without it. [Engine.FinishErasing]
// completes an erasure that was interrupted. progress may be nil; Erase calls it
// with the name of each step.
func (e *Engine) Erase(ctx context.Context, order record.EraseRequest, progress func(doing string)) (record.EraseResult, error) {
	weighed, err := e.store.Weigh(ctx, order)
	if err != nil {
		return weighed, err
	}
	reportStep(progress, "waiting for compaction")
	for _, id := range weighed.Affected {
		release, err := e.repairs.runner.Hold(ctx, id)
		if err != nil {
			return record.EraseResult{}, err
		}
		defer release()
	}
	reportStep(progress, "erasing")
	done, err := e.store.Erase(ctx, order)
	if err != nil || order.Unfinished {
		return done, err
	}
	return done, e.FinishErasing(ctx, progress)
}

// FinishErasing completes an erasure that was interrupted: it writes summaries that
// lost their text anew from the remaining messages, builds the search index again,
// and overwrites free space and logs. Without an unfinished erasure it does nothing.
func (e *Engine) FinishErasing(ctx context.Context, progress func(doing string)) error {
	all, err := e.repairs.store.Tombstones(ctx)
	if err != nil || !slices.ContainsFunc(all, func(t store.Tombstone) bool { return !t.Finished }) {
		return err
	}
	if err := e.reword(ctx, progress); err != nil {
		return err
	}
	reportStep(progress, "building the search index")
	if err := e.repairs.store.Reindex(ctx); err != nil {
		return err
	}
	reportStep(progress, "overwriting free space")
	return e.repairs.store.Scrub(ctx)
}

// reword writes the summaries that lost their text again, from their remaining
// sources.
func (e *Engine) reword(ctx context.Context, progress func(doing string)) error {
	unworded, err := e.repairs.store.Unworded(ctx)
	if err != nil {
		return err
	}
	in := map[record.ConversationID][]record.SummaryID{}
	for _, s := range unworded {
		in[s.Conversation] = append(in[s.Conversation], s.ID)
	}
	reportStep(progress, "writing summaries anew")
	// A fork's summaries may be made of its origin's, which was there before.
	for _, id := range slices.Sorted(maps.Keys(in)) {
		if err := e.repairs.runner.Remake(ctx, id, in[id]); err != nil {
			return err
		}
	}
	return nil
}

// reportStep calls progress, which may be nil.
func reportStep(progress func(string), doing string) {
	if progress != nil {
		progress(doing)
	}
}
