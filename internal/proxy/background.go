package proxy

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/assemble"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
)

// run reads the transcript and folds whenever the session is kicked, until ctx ends.
func (s *session) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kicked:
		}
		s.tell(func() { s.working = true })
		if err := s.refresh(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, hosts.ErrNoTranscript) {
			s.server.Log.Warn("a session could not be brought up to date", "session", s.key, "error", err)
			s.server.runLog.problem(err)
		}
		s.tell(func() { s.working, s.turns = false, s.turns+1 })
	}
}

// tell changes the state of the session and wakes the requests that wait for it.
func (s *session) tell(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.news)
	s.news = make(chan struct{})
}

// refresh brings record, index and summaries up to date.
func (s *session) refresh(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	if s.conversation() == 0 {
		return nil
	}
	if err := s.extend(ctx); err != nil {
		return err
	}
	if err := s.reload(ctx); err != nil {
		return err
	}
	return s.foldIfDue(ctx)
}

// catchUp stores the new records of the transcript.
func (s *session) catchUp(ctx context.Context) error {
	s.feeds.Lock()
	defer s.feeds.Unlock()
	t, err := s.server.Feed.Locate(ctx, s.host, s.path, s.id)
	if err != nil {
		return err
	}
	s.path = t.Path
	report, err := s.server.Feed.CatchUp(ctx, t, hosts.Limits{Wait: true})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if report.Conversation != 0 { // something was stored, now or before
		s.conv = report.Conversation
	}
	return nil
}

// indexBatch is how many messages are added to the index at a time.
const indexBatch = 256

// conversation returns the number of the conversation, or 0 if there is none yet.
func (s *session) conversation() store.ConversationID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conv
}

// extend adds the new messages to the index; those of a fork follow the ones that it
// shares with its origin.
func (s *session) extend(ctx context.Context) error {
	s.feeds.Lock()
	defer s.feeds.Unlock()
	if !s.inherited {
		c, err := s.server.store.Conversation(ctx, s.conversation())
		if err != nil {
			return err
		}
		origins, err := store.Origins(ctx, s.server.store, c)
		if err != nil {
			return err
		}
		for _, o := range slices.Backward(origins[1:]) {
			if err := s.extendWith(ctx, o.Conversation, 0, o.UpTo, s.index.Inherit); err != nil {
				return err
			}
		}
		s.inherited = true
	}
	return s.extendWith(ctx, s.conversation(), s.index.Seq(), math.MaxInt64, s.index.Add)
}

// extendWith adds messages of a conversation to the index.
func (s *session) extendWith(ctx context.Context, from store.ConversationID, after, upTo int64, add func(store.Message)) error {
	batch := make([]store.Message, 0, indexBatch)
	flush := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, m := range batch {
			add(m)
		}
		batch = batch[:0]
	}
	for m, err := range s.server.store.Messages(ctx, store.MessageQuery{Conversation: from, After: after, NoRaw: true}) {
		if err != nil {
			return err
		}
		if m.Seq > upTo {
			break
		}
		if batch = append(batch, m); len(batch) == indexBatch {
			flush()
		}
	}
	flush()
	return nil
}

// reload makes a plan of the summaries of the stored view.
func (s *session) reload(ctx context.Context) error {
	c, err := s.server.store.Conversation(ctx, s.conversation())
	if err != nil {
		return err
	}
	if c.Erased != s.erased { // summaries may quote what was erased
		s.tell(func() { s.erased, s.shown, s.ready = c.Erased, nil, nil })
	}
	view, err := s.server.store.View(ctx, s.conversation(), store.Window{})
	if err != nil {
		return err
	}
	var ids []store.SummaryID
	for _, it := range view.Items {
		if it.IsSummary() {
			ids = append(ids, it.Summary)
		}
	}
	s.mu.Lock()
	s.viewTokens = view.Tokens
	known := map[store.SummaryID]overlay.Cover{}
	if s.ready != nil {
		for _, c := range s.ready.Covers {
			known[c.ID] = c
		}
	}
	same := s.ready != nil && len(ids) == len(s.ready.Covers)
	for i, id := range ids {
		same = same && s.ready.Covers[i].ID == id
	}
	s.mu.Unlock()
	if same || len(ids) == 0 {
		return nil
	}
	covers := make([]overlay.Cover, 0, len(ids))
	for _, id := range ids {
		c, ok := known[id]
		if !ok {
			if c, err = s.server.cover(ctx, id); err != nil {
				return err
			}
		}
		covers = append(covers, c)
	}
	s.tell(func() { s.ready = overlay.NewPlan(s.index, covers) })
	return nil
}

// cover reads a summary and the messages beneath it.
func (s *Server) cover(ctx context.Context, id store.SummaryID) (overlay.Cover, error) {
	c := overlay.Cover{ID: id}
	for sum, err := range s.store.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}) {
		if err != nil {
			return c, err
		}
		sources, err := s.store.Sources(ctx, id)
		if err != nil {
			return c, err
		}
		listed := sources
		if sum.Kind != summary.Condensed {
			listed = nil // a leaf does not list its messages
		}
		c.Text = assemble.RenderSummary(sum, listed)
		if c.Messages, err = s.beneath(ctx, nil, sources); err != nil {
			return c, err
		}
	}
	return c, nil
}

// beneath appends the messages beneath sources.
func (s *Server) beneath(ctx context.Context, to []store.MessageID, sources []store.Node) ([]store.MessageID, error) {
	for _, n := range sources {
		if !n.IsSummary() {
			to = append(to, n.Message)
			continue
		}
		deeper, err := s.store.Sources(ctx, n.Summary)
		if err != nil {
			return nil, err
		}
		if to, err = s.beneath(ctx, to, deeper); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// The thresholds of the engine that folds for the proxy. They are fixed, because the
// proxy chooses the budget of each fold by them.
const (
	softThreshold = 0.75
	hardThreshold = 0.95
	lowThreshold  = 0.3
)

// EngineOptions are the options that the proxy's engine needs.
func EngineOptions() []lcm.Option {
	return []lcm.Option{lcm.WithThresholds(softThreshold, hardThreshold), lcm.WithLowThreshold(lowThreshold)}
}

// maxRounds is how often a session is folded in a row.
const maxRounds = 3

// foldIfDue folds the conversation when the last request came close to the budget and
// the newest summaries do not make it small.
func (s *session) foldIfDue(ctx context.Context) error {
	for range maxRounds {
		budget, due := s.due()
		if !due {
			return nil
		}
		report, err := s.server.Engine.Compact(ctx, s.conversation(), lcm.CompactOptions{Budget: budget})
		if err != nil {
			return err
		}
		s.server.Log.Debug("folded", "session", s.key, "budget", budget, "report", report.String())
		if err := s.reload(ctx); err != nil {
			return err
		}
		if report.Folds() == 0 {
			return nil
		}
	}
	return nil
}

// due reports whether the session has to be folded, and the engine's budget for it.
func (s *session) due() (budget int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := s.last
	if req == nil || s.budget == 0 {
		return 0, false
	}
	always := s.tokens(req.Model, fixed(req))
	room := max(s.budget-always, s.budget/8)
	used := func(p *overlay.Plan) int {
		laid, err := p.Lay(req, s.index, s.options())
		if err != nil {
			laid = overlay.Laid{}
		}
		return s.tokens(req.Model, size(req, laid)) - always
	}
	if (s.tokens(req.Model, s.lastSent)-always)*100 < room*foldAt || used(s.ready)*100 <= room*foldEnough {
		return 0, false
	}
	// The record counts other tokens than the API.
	target := float64(room) * foldTo / 100
	if ratio, density := s.tokens(req.Model, 1_000_000), s.index.Density(req); ratio > 0 && density > 0 {
		target *= density * 1_000_000 / float64(ratio)
	}
	if float64(s.viewTokens) <= target {
		// Summaries that the request does not fit keep it large. More of them would
		// leave nothing of the view.
		return 0, false
	}
	budget = int(min(target/lowThreshold, float64(s.viewTokens)/softThreshold))
	return max(lcm.MinBudget, budget), true
}

// fixed is the size of a request without the messages that can be folded.
func fixed(r *apiform.Request) int {
	units := r.Units
	for i := range r.Messages {
		units -= r.Messages[i].Units
	}
	for i := range r.Messages {
		if r.Messages[i].Role == apiform.Assistant {
			break
		}
		units += r.Messages[i].Units
	}
	return units
}
