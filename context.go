package lcm

import (
	"context"
	"fmt"
	"io"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// ContextItem is a message or summary of the view that a [Context] shows, with its cost
// there.
type ContextItem struct {
	record.ID
	Tokens int // its cost
}

// Context is the list of messages to send to a model.
type Context struct {
	// Messages are valid for every provider: call and result in pairs, no
	// empty message.
	Messages []llms.Message
	Tokens   int // of Messages
	Budget   int // the most tokens that Messages may have
	// Items describes the parts of the context and their costs, oldest first.
	Items []ContextItem
	// Dropped are items of the view that do not fit the budget.
	Dropped []record.ID
	// Skipped counts older items that were not even looked at.
	Skipped int
	// Repairs lists the changes that made the messages valid.
	Repairs []string
	// Damaged are the messages and summaries shown whose stored texts are not those
	// that arrived or were written; each says so in its text.
	Damaged []record.ID
	// ViewDamaged says that the list of what is shown is not the one that was written.
	ViewDamaged bool
	// Compaction reports the folding that Context waited for. It is nil if
	// nothing had to be folded. With the reason "behind", folding took longer
	// than a second and goes on in the background.
	Compaction *record.FoldReport
	// Unfolded is how many tokens of older items are left out of Messages and
	// not folded yet. Later contexts show summaries of them.
	Unfolded int
}

// Context returns the messages for the model within a budget of tokens; 0
// stands for the last budget that the session was used with. It waits for folding only where the view
// is above the hard threshold of the budget, and for at most a second: then it
// returns the newest messages that fit, Unfolded says how much is left out, and
// folding goes on in the background.
func (s *Session) Context(ctx context.Context, budget int) (Context, error) {
	budget, err := s.engine.budgets.use(s.open.Key, budget)
	if err != nil {
		return Context{}, err
	}
	id, err := s.known(ctx)
	if err != nil {
		return Context{}, err
	}
	view, report, err := s.engine.fit(ctx, id, budget)
	if err != nil {
		return Context{}, err
	}
	return s.build(ctx, view, budget, report)
}

// Preview is Context without folding: it changes nothing, and leaves out items
// that do not fit.
func (s *Session) Preview(ctx context.Context, budget int) (Context, error) {
	budget, err := s.engine.budgets.of(s.open.Key, budget)
	if err != nil {
		return Context{}, err
	}
	id, err := s.known(ctx)
	if err != nil {
		return Context{}, err
	}
	view, _, err := readView(ctx, s.engine, id, budget)
	if err != nil {
		return Context{}, err
	}
	return s.build(ctx, view, budget, nil)
}

// build makes a context of a view.
func (s *Session) build(ctx context.Context, view store.View, budget int, report *record.FoldReport) (Context, error) {
	in, err := s.load(ctx, view, budget)
	if err != nil {
		return Context{}, err
	}
	out, err := assemble.Build(in)
	if err != nil {
		return Context{}, err
	}
	c := Context{
		Messages: out.Messages, Tokens: out.Tokens, Budget: budget,
		Dropped: out.Dropped, Skipped: view.Skipped, Repairs: out.Repairs, Compaction: report, ViewDamaged: view.Damaged,
	}
	for _, it := range out.Items {
		c.Items = append(c.Items, ContextItem{ID: it.ID, Tokens: it.Tokens})
		if in.Messages[it.Message].Damaged || in.Summaries[it.Summary].Damaged {
			c.Damaged = append(c.Damaged, it.ID)
		}
	}
	if c.Skipped+len(c.Dropped) > 0 {
		c.Unfolded = view.Tokens
		for _, it := range out.Items {
			c.Unfolded -= it.Tokens
		}
		c.Unfolded = max(c.Unfolded, 0)
	}
	return c, nil
}

// readView reads the newest items of a conversation: more than the budget never fits, so no more
// than that is read. The view of no conversation is empty. The summaries are the finest that
// fit; full says that the view is to be folded, because with these it is above the hard
// threshold. It then has the summaries of the last fold.
func readView(ctx context.Context, e *Engine, id record.ConversationID, budget int) (v store.View, full bool, err error) {
	if id == 0 {
		return store.View{}, false, nil
	}
	v, err = e.store.View(ctx, id, store.Window{NewestTokens: budget})
	lim := e.limits(budget)
	if err != nil || v.Tokens >= lim.Hard {
		return v, true, err
	}
	finest, err := assemble.Finest(ctx, e.store, v, e.SummaryShare(budget))
	switch more := finest.Tokens - v.Tokens; {
	case err != nil || more > lim.Hard-lim.Soft: // it would be above the hard threshold before it can be folded
		return v, false, err
	case finest.Tokens >= lim.Hard:
		return v, true, nil
	}
	return finest, false, nil
}

// SummaryShare is how many tokens of a context within a budget are for summaries. Beyond
// that, they are condensed.
func (e *Engine) SummaryShare(budget int) int {
	return e.settings.policy.SummaryShare(e.limits(budget))
}

// fit reads the view, folded first if it is above the hard threshold.
func (e *Engine) fit(ctx context.Context, id record.ConversationID, budget int) (store.View, *record.FoldReport, error) {
	view, full, err := readView(ctx, e, id, budget)
	if err != nil || !full {
		return view, nil, err
	}
	// If folding stops early or takes long, this context leaves out the items
	// that do not fit, and the report says why.
	report, err := e.foldFor(ctx, id, budget)
	if err != nil {
		return view, nil, err
	}
	before := view.Tokens
	view, _, err = readView(ctx, e, id, budget)
	if report.Reason == compact.Behind {
		report.TokensBefore, report.TokensAfter = before, view.Tokens
	}
	return view, &report, err
}

// load reads the messages, summaries and payloads of a view.
func (s *Session) load(ctx context.Context, view store.View, budget int) (assemble.Input, error) {
	in := assemble.Input{
		View: view, Budget: budget, Policy: s.engine.settings.policy.Policy, Counter: s.engine.settings.counter,
		Messages: make(map[record.MessageID]store.Message, len(view.Items)+1), Summaries: map[record.SummaryID]store.Summary{},
		// Estimates were stored on arrival. A tokenizer may have been
		// configured since, so it counts again.
		Counted: s.engine.settings.counter == llms.Estimate,
	}
	items := view.Items
	if view.LastUserItem != nil {
		items = append([]store.Item{*view.LastUserItem}, items...)
	}
	if err := s.loadMessages(ctx, &in, items); err != nil {
		return in, err
	}
	for i, it := range view.Items {
		if m := in.Messages[it.Message]; m.ID != 0 && !m.Damaged { // whatever the view says
			view.Items[i].Calls, view.Items[i].Results = store.Links(m.Body)
		}
	}
	if err := loadSummaries(ctx, s.engine.store, &in, items); err != nil {
		return in, err
	}
	return in, loadPayloads(ctx, s.engine.store, &in)
}

// loadMessages reuses the messages of the last call: an erased one has left the view, and
// a masked one is shown as it was said.
func (s *Session) loadMessages(ctx context.Context, in *assemble.Input, items []store.Item) error {
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	var missing []record.MessageID
	for _, it := range items {
		if it.IsSummary() {
			continue
		}
		if m, ok := seen[it.Message]; ok {
			in.Messages[m.ID] = m
		} else {
			missing = append(missing, it.Message)
		}
	}
	if missing != nil {
		for m, err := range s.engine.store.Messages(ctx, store.MessageQuery{IDs: missing}) {
			if err != nil {
				return err
			}
			if m, err = s.engine.unmasked(ctx, m); err != nil {
				return err
			}
			in.Messages[m.ID] = m
		}
	}
	for _, it := range items {
		if m, ok := in.Messages[it.Message]; ok && it.Damaged {
			store.MarkDamaged(&m)
			in.Messages[m.ID] = m
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = in.Messages // which nobody writes to from here on
	return nil
}

func loadSummaries(ctx context.Context, db store.Store, in *assemble.Input, items []store.Item) error {
	var ids []record.SummaryID
	for _, it := range items {
		if it.IsSummary() {
			ids = append(ids, it.Summary)
		}
	}
	if ids == nil {
		return nil
	}
	for sum, err := range db.Summaries(ctx, store.SummaryQuery{IDs: ids, Sources: true}) {
		if err != nil {
			return err
		}
		in.Summaries[sum.ID] = sum
	}
	for _, it := range items {
		if sum, ok := in.Summaries[it.Summary]; ok && it.Damaged {
			sum.Damaged = true
			store.MarkSummaryDamaged(&sum)
			in.Summaries[sum.ID] = sum
		}
	}
	return nil
}

// loadPayloads reads the images and files that the fresh tail shows.
func loadPayloads(ctx context.Context, db store.Store, in *assemble.Input) error {
	for _, id := range assemble.Wanted(*in) {
		p, err := db.Payload(ctx, id)
		if err != nil {
			return err
		}
		if p.Damaged {
			continue // the reference stays in its place
		}
		data, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if in.Payloads == nil {
			in.Payloads = map[record.PayloadID][]byte{}
		}
		in.Payloads[id] = data
	}
	return nil
}
