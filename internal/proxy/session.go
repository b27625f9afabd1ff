package proxy

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
)

// The marks between which a session's requests stay, as percentages of the part of the
// budget that is left for messages.
const (
	foldAt     = 85 // the next summaries are made from here on
	foldTo     = 25 // folding goes down to here
	foldEnough = 50 // summaries that leave less are not replaced before they are shown
)

// patience is how long a request that fits the model's window waits for a fold that is late. Others
// are held (hold.go).
const patience = time.Second

// longHistory is how many budgets a view may have for a request that fits the window to wait for its fold.
const longHistory = 4

// session is the state of one session of a host.
type session struct {
	server *Server
	key    string // of its conversation
	host   string
	id     string

	kicked chan struct{}

	feeds     sync.Mutex   // one reading of the transcript at a time
	path      string       // of the transcript
	extends   sync.Mutex   // one extension of the index at a time
	inherited bool         // the index has the messages of the origin
	resumed   bool         // what the record has of earlier runs was read
	reading   <-chan error // the result of a reading that is under way, or nil

	mu      sync.Mutex
	conv    store.ConversationID
	project store.Project
	index   *overlay.Index
	// shown is the plan of the last request that was changed, ready the newest one.
	shown, ready *overlay.Plan
	last         *apiform.Request // the last long request
	lastSent     int              // its size as it was sent, 0 before it is
	checkpoint   store.MessageID  // of the last request
	ratio        float64          // tokens of a unit, from the session's own answers
	budget       int              // of the last request
	model        string
	tools        bool                       // its requests offer lcm's tools
	cut          bool                       // the host may leave out their beginning
	loose        map[store.MessageID]string // if so, the messages of the view that no summary stands for
	commands     bool                       // they offer other tools
	viewTokens   int                        // of the stored view with the sizes, 0 before it was read
	sizes        map[store.MessageID]int    // of messages that the host sends larger than the view has them
	turns        int                        // how often the background work was done
	working      bool                       // it is being done
	unread       bool                       // a reading of the transcript goes on beside it
	behind       string                     // why it could not bring the record up to date the last time, or ""
	folds        int                        // how often it has folded
	settled      bool                       // the last time it read all, folded nothing, and no other process held it up
	foldedOut    bool                       // nothing more can be folded for the last request
	news         chan struct{}              // closed when it has got further
	refused      bool                       // the host was made to compact, and its requests are not smaller yet
	asked        bool                       // the host has asked for a summary since then
}

// session returns the state of a session and starts its background work.
func (s *Server) session(host, id string) *session {
	key := host + ":" + id
	if host == "" {
		key = UnknownClient
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.sessions[key]
	if !ok {
		one = s.newSession(key, host, id)
		s.sessions[key] = one
		if s.ctx.Err() == nil && id != "" {
			s.work.Go(func() { one.run(s.ctx) })
		}
	}
	return one
}

func (s *Server) newSession(key, host, id string) *session {
	return &session{server: s, key: key, host: host, id: id, kicked: make(chan struct{}, 1), index: overlay.NewIndex(), news: make(chan struct{})}
}

// kick has the background work look at the session.
func (s *session) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

// decide decides which summaries a request carries. Without edits the request stays as it is.
func (c *call) decide(h http.Header, form apiform.Form, body []byte) (*apiform.Request, []apiform.Edit) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	req, err := s.take(c, h, form, body)
	if err != nil {
		c.fail(err.Error())
		return nil, nil
	}
	made := &c.made
	if s.passes(h, made) {
		return nil, nil
	}
	compaction := s.isCompaction(req)
	if compaction && !s.server.Observe {
		s.asked = true
		if err := s.compacted(c, req); err == nil {
			return nil, nil
		} else {
			made.Note = "the host's own summary: " + err.Error()
		}
	}
	turn := !compaction && s.last == req
	fits := made.FullTokens <= s.budget
	if fits && turn {
		s.shrunk()
	}
	if fits && !s.cut {
		return nil, nil
	}
	laid, plan, err := s.layInTime(c, req)
	switch {
	case c.expired:
		c.notReady(s.whyOver(req))
		return nil, nil
	case !compaction && s.refuse(c, req, laid):
		return nil, nil
	case fits && (err != nil || !laid.Cut || len(laid.Edits) == 0):
		return nil, nil
	case err != nil:
		c.fail(err.Error())
		return nil, nil
	case len(laid.Edits) == 0:
		if made.Over = s.whyOver(req); made.Over == RecordBehind {
			c.fail(RecordBehind)
		}
		return nil, nil
	}
	s.show(made, req, laid, plan)
	if made.Over == "" && turn && s.over(req) < 0 {
		s.shrunk()
	}
	return req, laid.Edits
}

// take reads a request and notes its sizes.
func (s *session) take(c *call, h http.Header, form apiform.Form, body []byte) (*apiform.Request, error) {
	req, err := apiform.ParseAfter(s.last, form, body)
	if err != nil {
		return nil, err
	}
	req.Model = cmp.Or(req.Model, c.model)
	// A request beside the history, such as for a title, is none. An engine is asked for no others.
	if s.last == nil || 2*req.Units > s.last.Units || req.Tools || c.budget > 0 {
		s.last, s.lastSent, s.foldedOut = req, 0, false
	}
	s.tools, s.commands = s.tools || c.tools || req.Offers(toolname.Grep), s.commands || req.Tools
	s.model, s.cut = req.Model, s.cut || c.cut
	made := &c.made
	if made.Window, s.budget = s.budgetOf(h); c.budget > 0 {
		s.budget = c.budget
	}
	c.million = hasMillion(h, req.Model)
	made.Model, made.Messages, made.FullUnits, made.Units = req.Model, len(req.Messages), req.Units, req.Units
	made.Budget, made.FullTokens = s.budget, s.tokens(req.Model, req.Units)
	made.Tokens = made.FullTokens
	return req, nil
}

// passes reports whether a request passes unchanged, whatever its size is.
func (s *session) passes(h http.Header, made *Composition) bool {
	switch {
	case s.host == "":
		made.Note, made.Over = NoKnownAgent, NoKnownAgent
	case s.id == "": // no session of the host has its calls
		made.Over = NoTranscript
	case subscription(h) && !s.server.Subscription:
		made.Subscription, made.Note = true, "a subscription login"
	default:
		return false
	}
	return true
}

// show notes the summaries that a request carries.
func (s *session) show(made *Composition, req *apiform.Request, laid overlay.Laid, plan *overlay.Plan) {
	made.Fold, s.shown = plan != s.shown, plan
	made.Units, made.Dropped = size(req, laid), laid.Dropped
	if s.last == req {
		s.lastSent = made.Units
	}
	if made.Tokens = s.tokens(req.Model, made.Units); made.Tokens > s.budget {
		made.Over = s.whyOver(req)
	}
	for _, cover := range laid.Used {
		made.Summaries = append(made.Summaries, UsedSummary{ID: cover.ID, Messages: cover.Count(), Tokens: s.tokens(req.Model, len(cover.Text))})
	}
}

// size is the size of a request after its edits.
func size(r *apiform.Request, l overlay.Laid) int { return r.Units - l.Removed + l.Added }

// lay lays the plan that is shown over a request or, if the request is too large with
// it, the newest plan.
func (s *session) lay(req *apiform.Request) (overlay.Laid, *overlay.Plan, error) {
	s.checkpoint = s.checkpointOf(req) // the record may have been read since the last time
	o := s.options()
	now, err := s.shown.Lay(req, s.index, o)
	holds := err == nil && len(now.Edits) > 0 && s.tokens(req.Model, size(req, now)) <= s.budget
	if s.ready == nil || s.ready == s.shown || holds && now.Lost == 0 {
		return now, s.shown, err
	}
	next, problem := s.ready.Lay(req, s.index, o)
	more := next.Lost - now.Lost
	if problem != nil || more >= 0 && err == nil && (holds || size(req, next) >= size(req, now)) {
		return now, s.shown, err
	}
	return next, s.ready, nil
}

func (s *session) options() overlay.Options {
	o := stayOptions(s.budget)
	o.Checkpoint, o.Intro, o.MaxReminders = s.checkpoint, s.intro(), s.budget/2 // an eighth of the budget, at four bytes a token
	if s.cut {
		o.Cut = func(id store.MessageID) string { return s.loose[id] }
	}
	return o
}

// tokens estimates the tokens of a size. It rounds up, so that a request that is a
// fraction of a token above the budget does not count as one within it.
func (s *session) tokens(model string, units int) int {
	r := s.ratio
	if r == 0 || model != s.model {
		r = s.server.cal.of(s.server.ctx, model).Ratio
	}
	return int(math.Ceil(float64(units) * r))
}

// calibrate learns from an answer how many tokens a request had. Short requests, such
// as those for a title, say little about long ones.
func (s *session) calibrate(model string, units, tokens int) {
	r := float64(tokens) / float64(units)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !plausible(r) || s.last != nil && 4*units < s.last.Units && units < 4*s.budget/10 {
		return
	}
	if model == s.model {
		s.ratio = r
	}
	s.server.cal.learn(s.server.ctx, model, func(l *learnt) { l.Ratio = r })
}

// share is how much of the budget's part for messages a size takes, in percent.
func (s *session) share(r *apiform.Request, units int) int {
	always := s.tokens(r.Model, fixed(r, s.budget))
	return (s.tokens(r.Model, units) - always) * 100 / room(s.budget, always)
}

// room is a budget's part for messages, beside a number of tokens that cannot be folded.
func room(budget, always int) int { return max(budget-always, budget/8, 1) }

// checkpointOf returns the checkpoint that a request carries at the beginning of the
// history: lcm's own, which must be one of this conversation, or a summary of the host,
// which stands for the messages before it.
func (s *session) checkpointOf(r *apiform.Request) store.MessageID {
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == apiform.Assistant {
			break
		}
		if id := store.MessageID(m.Checkpoint); id > 0 && s.index.Has(id) {
			return id
		}
		for _, t := range m.Texts {
			if id := s.index.HostSummary(t.Key); id != 0 {
				return id
			}
		}
	}
	return 0
}

// layInTime is lay, and waits for the background work where that may help: a session
// that is resumed has to be read, and a fold may be late.
func (s *session) layInTime(c *call, req *apiform.Request) (overlay.Laid, *overlay.Plan, error) {
	ctx, cancel := context.WithTimeout(s.server.ctx, cmp.Or(c.patience, s.server.patience))
	defer cancel()
	enough := s.turns + 1
	if s.working { // on an older state
		enough++
	}
	s.kick()
	held := &hold{}
	for {
		laid, plan, err := s.lay(req)
		tokens := s.tokens(req.Model, size(req, laid))
		fits := err == nil && tokens <= s.budget
		// Other summaries break the provider's cache, so they have to last.
		lasts := plan == s.shown || s.share(req, size(req, laid)) <= foldEnough
		lasts = lasts && !laid.Cut && (!s.cut || s.turns > 0) // what was cut off is as the record has it now
		tried := s.turns >= enough
		if fits && (lasts || tried) || s.server.Observe {
			return laid, plan, err
		}
		ends := ctx
		if c.request == nil || tokens <= most(c.made.Window) { // it will not be refused, or the host has not said so
			if tried && !s.unread || s.viewTokens > longHistory*s.budget || ctx.Err() != nil {
				return laid, plan, err
			}
		} else {
			if held.call == nil {
				held = c.hold(req.Stream)
				defer held.end()
			}
			if tried && held.hopeless() {
				return laid, plan, err
			}
			if ends = held.ctx; ends.Err() != nil {
				c.expired = true
				return laid, plan, err
			}
		}
		news, why := s.news, s.whyOver(req)
		s.mu.Unlock()
		select {
		case <-news:
		case <-ends.Done():
		case <-held.beat:
			held.tick(why)
		}
		s.mu.Lock()
	}
}

// resume reads what the record has of the session: before its transcript is read if it can be, so that a
// request can carry the summaries that are stored. It waits for nobody who writes.
func (s *session) resume(ctx context.Context) error {
	if s.conversation() == 0 {
		found, err := s.server.store.Conversations(ctx, store.ConversationQuery{Key: s.key, ActiveOnly: true, Limit: 1})
		if err != nil || len(found) == 0 {
			return err
		}
		s.tell(func() { s.conv, s.project = found[0].ID, found[0].Project })
	}
	if err := s.extend(ctx); err != nil {
		return err
	}
	if err := s.recall(ctx); err != nil {
		return err
	}
	s.resumed = true
	return s.reload(ctx)
}

// recall makes a plan of the summaries that the session was shown last in an earlier run: a resume continues
// with them, as the provider's cache does. reload drops the plan if they have left the view.
func (s *session) recall(ctx context.Context) error {
	made, err := Requests(ctx, s.server.store, s.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var covers []*overlay.Cover
	for _, m := range slices.Backward(made) {
		if len(m.Summaries) == 0 || m.Observe {
			continue
		}
		for _, used := range m.Summaries {
			c, err := coverReader{store: s.server.store}.cover(ctx, used.ID, math.MaxInt)
			if err != nil {
				return err
			}
			covers = append(covers, c)
		}
		break
	}
	s.tell(func() {
		if s.shown == nil && len(covers) > 0 {
			s.shown = overlay.NewPlan(s.index, covers)
		}
	})
	return nil
}
