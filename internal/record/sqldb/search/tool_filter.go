package search

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// callReach is how many messages before a tool result are searched for its
// call. Only parallel calls lie between.
const callReach = 64

// toolFilter accepts messages that call a tool or answer it. Most formats do
// not name the tool in a result, so its call is looked up.
type toolFilter struct {
	ctx  context.Context // of the search that asks
	file sqldb.DB
	tool string
	also func(id int64) bool

	mu  sync.Mutex
	err error // the search is then incomplete
}

// accept implements [search.Filter.Accept].
func (f *toolFilter) accept(id int64) bool {
	if f.also != nil && !f.also(id) {
		return false
	}
	uses, err := f.uses(store.MessageID(id))
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = err
	}
	return uses
}

// failed returns the first error of the filter.
func (f *toolFilter) failed() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *toolFilter) uses(id store.MessageID) (bool, error) {
	for m, err := range (&rows.Records{DB: f.file}).Messages(f.ctx, store.MessageQuery{IDs: []store.MessageID{id}}) {
		if err != nil {
			return false, err
		}
		for _, p := range m.Body.Parts {
			switch {
			case p.Call != nil && strings.EqualFold(p.Call.Name, f.tool):
				return true, nil
			case p.Result != nil:
				name, err := f.nameOf(m, p.Result)
				if same := strings.EqualFold(name, f.tool); err != nil || same {
					return same, err
				}
			}
		}
	}
	return false, nil
}

// nameOf returns the tool that a result answers for.
func (f *toolFilter) nameOf(m store.Message, r *llms.ToolResult) (string, error) {
	if r.Name != "" {
		return r.Name, nil
	}
	before := store.MessageQuery{Conversation: m.Conversation, Before: m.Seq, Newest: true, Limit: callReach}
	for earlier, err := range (&rows.Records{DB: f.file}).Messages(f.ctx, before) {
		if err != nil {
			return "", err
		}
		for _, call := range earlier.Body.ToolCalls() {
			if call.ID == r.CallID {
				return call.Name, nil
			}
		}
	}
	return "", nil
}

// incomplete marks the page as unfinished if the deadline stopped the filter;
// any other failure is an error.
func (p *page) incomplete(err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p.Unfinished, p.AtLeast = true, true
	p.Notes = append(p.Notes, "the deadline came before every message was looked at for its tool")
	return nil
}
