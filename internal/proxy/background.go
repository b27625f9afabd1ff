package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
)

// run reads the transcript and folds whenever the session is kicked, until ctx ends.
func (s *session) run(ctx context.Context) {
	for {
		var err error
		folds := s.folds
		select {
		case <-ctx.Done():
			return
		case <-s.kicked:
			s.tell(func() { s.working = true })
			if !s.resumed {
				err = s.resume(ctx)
			}
			if err == nil {
				err = s.read(ctx)
			}
		case err = <-s.reading: // it took long
			s.reading = nil
			s.tell(func() { s.working = true })
		}
		if err == nil {
			err = s.refresh(ctx)
		}
		why := whyBehind(err)
		if why == RecordBehind && ctx.Err() == nil {
			s.server.warnOnce("a session could not be brought up to date; this is said once", "session", s.key, "error", err)
			s.server.runLog.problem(err)
		}
		s.tell(func() {
			s.working, s.behind, s.turns, s.unread = false, why, s.turns+1, s.reading != nil
			s.settled = s.reading == nil && s.folds == folds && !dbfile.Busy(err)
		})
	}
}

// readTime is how long the background work waits for a reading of the transcript. A message of
// many megabytes takes seconds, and must not hold up the fold of what was read before it.
const readTime = 200 * time.Millisecond

// read has the new records of the transcript stored, and waits for it up to readTime. It goes on
// after that; one reading runs at a time.
func (s *session) read(ctx context.Context) error {
	if s.reading == nil {
		done := make(chan error, 1)
		s.server.work.Go(func() { done <- s.catchUp(ctx) })
		s.reading = done
	}
	select {
	case err := <-s.reading:
		s.reading = nil
		return err
	case <-time.After(readTime):
		return nil
	}
}

// errKeptOut says that the settings exclude a session from the record.
var errKeptOut = errors.New("the session is not recorded")

// whyBehind is the reason for which a session was not brought up to date, or "".
func whyBehind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, hosts.ErrNoTranscript):
		return NoTranscript
	case errors.Is(err, errKeptOut):
		return KeptOut
	}
	return RecordBehind
}

// tell changes the state of the session and wakes the requests that wait for it.
func (s *session) tell(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.news)
	s.news = make(chan struct{})
}

// refresh brings index and summaries up to date with the record.
func (s *session) refresh(ctx context.Context) error {
	if none := s.conversation() == 0; none && s.reading == nil {
		return hosts.ErrNoTranscript
	} else if none {
		return nil
	}
	load := s.resume
	if s.resumed {
		load = s.reload
	}
	if err := load(ctx); err != nil {
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
	if report.Ignored != "" {
		return errKeptOut
	}
	if report.Conversation == 0 || report.Conversation == s.conversation() {
		return nil // nothing was stored yet, or nothing has changed
	}
	c, err := s.server.store.Conversation(ctx, report.Conversation)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conv, s.project = c.ID, c.Project
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
	s.extends.Lock()
	defer s.extends.Unlock()
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

// reload makes a plan of the summaries of the stored view, the finest that fit. It drops the plan that is
// shown if the text of a summary in it has changed, since the old text may quote a message
// that was erased, or if one has left the view, since the host has taken messages back. Only then the
// index gets the new messages: they would make it look as if the host had left out the ones
// that it took back.
func (s *session) reload(ctx context.Context) error {
	view, err := s.server.store.View(ctx, s.conversation(), store.Window{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	shown, ready := s.shown, s.ready
	s.mu.Unlock()
	read := coverReader{store: s.server.store, known: map[store.SummaryID]*overlay.Cover{}}
	read.remember(shown)
	read.remember(ready)
	roots, err := read.covers(ctx, view)
	if err != nil {
		return err
	}
	shows := map[store.MessageID]bool{} // itself, or beneath a summary
	for _, it := range view.Items {
		shows[it.Message] = true
	}
	for _, root := range roots {
		for c := range root.All {
			for _, id := range c.Messages {
				shows[id] = true
			}
		}
	}
	s.tell(func() { // a request may have begun to show what was ready
		if s.shown != nil && !within(s.shown.Covers, roots) {
			s.shown = nil
		}
		if s.ready != nil && !within(s.ready.Covers, roots) {
			s.ready = nil
		}
		ready = s.ready
		maps.DeleteFunc(s.loose, func(id store.MessageID, _ string) bool { return !shows[id] })
	})
	if err := s.extend(ctx); err != nil {
		return err
	}
	cut := false
	s.tell(func() { cut = s.cut })
	var loose map[store.MessageID]string
	if cut {
		if loose, err = looseTexts(ctx, s.server.store, view); err != nil {
			return err
		}
	}
	var level float64
	s.tell(func() {
		s.viewTokens, s.sizes = view.Tokens, map[store.MessageID]int{}
		for _, it := range view.Items {
			if whole := s.index.Tokens(it.Message); whole > it.Tokens {
				s.sizes[it.Message] = whole
				s.viewTokens += whole - it.Tokens
			}
		}
		level = foldLevel(s)
	})
	finest := view
	if level > 0 {
		if finest, err = assemble.Finest(ctx, s.server.store, view, s.server.Engine.SummaryShare(int(level/lowThreshold))); err != nil {
			return err
		}
	}
	covers, err := read.covers(ctx, finest)
	if err != nil {
		return err
	}
	var old []*overlay.Cover
	if ready != nil {
		old = ready.Covers
	}
	s.tell(func() {
		if s.loose = loose; !slices.Equal(covers, old) {
			s.ready = overlay.NewPlan(s.index, covers)
		}
	})
	return nil
}

// maxLoose bounds the text of a message that the host has cut off, in bytes.
const maxLoose = 8_000

// looseTexts reads the messages of a view as texts.
func looseTexts(ctx context.Context, r store.Reader, view store.View) (map[store.MessageID]string, error) {
	loose, q := map[store.MessageID]string{}, store.MessageQuery{NoRaw: true}
	for _, it := range view.Items {
		if !it.IsSummary() {
			q.IDs = append(q.IDs, it.Message)
		}
	}
	if len(q.IDs) == 0 { // a query without ids has all messages
		return loose, nil
	}
	for m, err := range r.Messages(ctx, q) {
		if err != nil {
			return nil, err
		}
		text := m.Body.Render()
		if len(text) > maxLoose {
			text = prose.Clip(text, maxLoose) + fmt.Sprintf("\n[It goes on: describe %s.]", m.ID)
		}
		loose[m.ID] = fmt.Sprintf("[%s, %s, earlier in this conversation] %s", m.Body.Role, m.ID, text)
	}
	return loose, nil
}

// foldLevel is the size of the messages that folding goes down to, in tokens: foldTo of their
// room. A room of carryRoom or a little more is folded less far, because a view needs about
// carryTokens to carry real work on. The caller holds mu.
func foldLevel(s *session) float64 {
	if s.last == nil {
		return 0
	}
	all := float64(room(s.budget, s.tokens(s.last.Model, fixed(s.last, s.budget))))
	if all < carryRoom {
		return all * foldTo / 100
	}
	return max(all*foldTo/100, carryTokens)
}

// within reports whether each cover is one of others, or beneath one of them, with the same text.
func within(covers, others []*overlay.Cover) bool {
	there := map[store.SummaryID]string{}
	for _, c := range others {
		for one := range c.All {
			there[one.ID] = one.Text
		}
	}
	return !slices.ContainsFunc(covers, func(c *overlay.Cover) bool {
		text, ok := there[c.ID]
		return !ok || text != c.Text
	})
}

// The thresholds of the engine that folds for the proxy. They are fixed, because the
// proxy chooses the budget of each fold by them.
const (
	softThreshold = 0.75
	hardThreshold = 0.95
	lowThreshold  = 0.3
)

// What the messages are folded down to where foldTo is less, and the room that it takes. They were
// chosen on real work that was played in pi (TestEngineReplay).
const (
	carryTokens = 30_000
	carryRoom   = 65_000
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
		report, err := s.server.Engine.Compact(ctx, s.conversation(), lcm.CompactOptions{Budget: budget, Sizes: s.sizes})
		if err != nil {
			return err
		}
		s.server.Log.Debug("folded", "session", s.key, "budget", budget, "report", report.String())
		if err := s.reload(ctx); err != nil {
			return err
		}
		folded := report.Folds() > 0
		s.tell(func() { s.foldedOut = !folded })
		if !folded {
			return nil
		}
		s.folds++
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
	with := func(p *overlay.Plan) int {
		laid, err := p.Lay(req, s.index, s.options())
		if err != nil {
			laid = overlay.Laid{}
		}
		return size(req, laid)
	}
	sent := s.lastSent
	if sent == 0 {
		sent = with(s.shown)
	}
	if s.share(req, sent) < foldAt || s.share(req, with(s.ready)) <= foldEnough {
		return 0, false
	}
	// The record counts other tokens than the API.
	target := foldLevel(s)
	if ratio, density := s.tokens(req.Model, 1_000_000), s.index.Density(req); ratio > 0 && density > 0 {
		target *= density * 1_000_000 / float64(ratio)
	}
	if float64(s.viewTokens) <= target {
		// Summaries that the request does not fit keep it large. More of them would
		// leave nothing of the view.
		s.foldedOut = true
		return 0, false
	}
	budget = int(min(target/lowThreshold, float64(s.viewTokens)/softThreshold))
	return max(lcm.MinBudget, budget), true
}

// stayOptions bound the messages that stay beside their summary to half the budget, at
// four bytes a token.
func stayOptions(budget int) overlay.Options { return overlay.Options{MaxStay: 2 * budget} }

// fixed is the size of a request without the messages that can be folded.
func fixed(r *apiform.Request, budget int) int {
	units := r.Units
	for i := range r.Messages {
		units -= r.Messages[i].Units
	}
	for i := range r.Messages {
		if r.Messages[i].Role == apiform.Assistant {
			break
		}
		if !stayOptions(budget).GivesWay(r, i) {
			units += r.Messages[i].Units
		}
	}
	return units
}
