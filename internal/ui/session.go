package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Session is a conversation as a page shows it.
type Session struct {
	ID         store.ConversationID `json:"id"`
	Key        string               `json:"key"`
	Title      string               `json:"title"`
	Host       string               `json:"host,omitempty"`
	Project    string               `json:"project,omitempty"`
	Parent     store.ConversationID `json:"parent,omitempty"`
	ForkedFrom store.ConversationID `json:"forkedFrom,omitempty"`
	Messages   int64                `json:"messages"` // without those that were erased
	Last       int64                `json:"last"`     // the newest message, by Seq
	Tokens     int64                `json:"tokens"`
	Bytes      int64                `json:"bytes"`
	Summaries  int64                `json:"summaries"`
	ViewTokens int                  `json:"viewTokens"`
	Created    time.Time            `json:"createdAt"`
	Updated    time.Time            `json:"updatedAt"`
	Archived   bool                 `json:"archived,omitempty"`
	// Day names the day of the first session of a day in a list.
	Day string `json:"-"`
}

func (s *reader) session(ctx context.Context, c store.Conversation) (Session, error) {
	title, err := s.titleOf(ctx, c)
	return Session{
		ID: c.ID, Key: c.Key, Title: title, Host: c.Agent, Project: c.Project.Name(), Parent: c.Parent, ForkedFrom: c.ForkedFrom,
		Messages: c.Messages - c.Erased, Last: c.Messages, Tokens: c.Tokens, Bytes: c.Bytes, Summaries: c.Summaries, ViewTokens: c.ViewTokens,
		Created: c.CreatedAt, Updated: c.UpdatedAt, Archived: !c.Active(),
	}, err
}

// titleOf returns the title of a conversation, else its first question, else its
// key.
func (s *reader) titleOf(ctx context.Context, c store.Conversation) (string, error) {
	if c.Title != "" {
		return safetext.Line(c.Title), nil
	}
	for m, err := range s.record.Messages(ctx, store.MessageQuery{Conversation: c.ID, Limit: 20, NoRaw: true}) {
		if err != nil {
			return "", err
		}
		if text := m.Body.PlainText(); m.Body.Role == llms.RoleUser && m.Flags.Said() && text != "" {
			return firstLine(text), nil
		}
	}
	return safetext.Line(c.Key), nil
}

// window is the number of messages that a page shows at first, and that scrolling
// adds.
const window = 40

// sessionData is the data of the page of a session.
type sessionData struct {
	Session  Session   `json:"session"`
	Messages []Message `json:"messages"`
	// Before and After say whether messages precede and follow.
	Before bool  `json:"before"`
	After  bool  `json:"after"`
	First  int64 `json:"first"` // Seq of the first and last message
	Last   int64 `json:"last"`
	All    bool  `json:"all,omitempty"` // with records that no model sees
	// Related are the sessions of sub-agents and forks.
	Related []Session `json:"related,omitempty"`
	// Resume is the command that opens the session in its host, or that brings it back if it is Lost.
	Resume string   `json:"resume,omitempty"`
	Lost   bool     `json:"lost,omitempty"`
	Map    *mapData `json:"-"`
	Part   bool     `json:"-"` // messages alone, for scrolling
	// Panel is the summary that is shown beside the messages.
	Panel store.SummaryID `json:"-"`
}

func (d sessionData) title() string { return d.Session.Title }

// days returns the span of time of the session.
func (d sessionData) days(zone *time.Location) markup {
	from, to := d.Session.Created.In(zone), d.Session.Updated.In(zone)
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return timeTag(from, from.Format("2 Jan 2006, 15:04")) + "–" + timeTag(to, to.Format("15:04"))
	}
	return timeTag(from, from.Format("2 Jan 2006")) + " – " + timeTag(to, to.Format("2 Jan 2006"))
}

// conversation returns the conversation that the path of a request names.
func (s *reader) conversation(r *http.Request) (store.Conversation, error) {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		return store.Conversation{}, missing(store.ErrNotFound, "session", r.PathValue("id"))
	}
	c, err := s.record.Conversation(r.Context(), store.ConversationID(n))
	return c, missing(err, "session", r.PathValue("id"))
}

// positive returns a number of the query, or other if there is none.
func positive(r *http.Request, name string, other int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return other, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q: want a number: %w", name, prose.Clip(text, 40), errBadRequest)
	}
	return n, nil
}

// sessionPage loads the messages around ?at=SEQ, or those ?after= or ?before= one. With ?summary= it shows a summary beside them.
func (s *Server) sessionPage(r *http.Request) (d sessionData, err error) {
	ctx := r.Context()
	c, err := s.conversation(r)
	if err != nil {
		return d, err
	}
	var numbers [3]int64
	for i, name := range []string{"at", "after", "before"} {
		var wrong error
		numbers[i], wrong = positive(r, name, 0)
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return d, err
	}
	at, after, before := numbers[0], numbers[1], numbers[2]
	q := r.URL.Query()
	d.All, d.Part = q.Get("all") != "", q.Has("after") || q.Has("before")
	if id, err := store.ParseID(q.Get("summary")); err == nil {
		d.Panel = id.Summary
	}
	switch {
	case q.Has("before"):
		d.Messages, d.Before, err = s.list(ctx, store.MessageQuery{Conversation: c.ID, Before: max(before, 1), Newest: true}, window, d.All)
		d.After = true
	case q.Has("after") || at == 0:
		d.Messages, d.After, err = s.list(ctx, store.MessageQuery{Conversation: c.ID, After: after}, window, d.All)
		d.Before = after > 0
	default:
		err = s.loadAround(ctx, &d, c, at)
	}
	if err != nil {
		return d, err
	}
	if n := len(d.Messages); n > 0 {
		d.First, d.Last = d.Messages[0].Seq, d.Messages[n-1].Seq
	} else {
		d.First, d.Last = after, after
	}
	markDays(d.Messages, zoneOf(r))
	if d.Related, err = s.related(ctx, c); err != nil {
		return d, err
	}
	if err := s.markLanes(r, c, d.Messages, d.Related, d.After); err != nil {
		return d, err
	}
	if d.Session, err = s.session(ctx, c); err != nil || d.Part {
		return d, err
	}
	if s.Resume != nil {
		there := false
		if d.Resume, there, err = s.Resume(ctx, c); err != nil {
			return d, err
		}
		if d.Lost = d.Resume != "" && !there; d.Lost {
			_, session, _ := strings.Cut(c.Key, ":") // its number may be another one in the default database
			d.Resume = "lcm undelete " + session
		}
	}
	// The map of a long session is loaded after the page.
	if c.Summaries <= 300 {
		m, err := s.sessionMap(ctx, c)
		if err != nil {
			return d, err
		}
		d.Map = &m
	}
	return d, nil
}

// loadAround loads a quarter of a window before a place, and the rest from it on.
func (s *reader) loadAround(ctx context.Context, d *sessionData, c store.Conversation, at int64) error {
	at = min(at, max(c.Messages, 1))
	older, before, err := s.list(ctx, store.MessageQuery{Conversation: c.ID, Before: at, Newest: true}, window/4, d.All)
	if err != nil {
		return err
	}
	newer, after, err := s.list(ctx, store.MessageQuery{Conversation: c.ID, After: at - 1}, window, d.All)
	if len(newer) > 0 {
		newer[0].Focus = newer[0].Seq == at
	}
	d.Messages, d.Before, d.After = append(older, newer...), before, after
	return err
}

// list reads up to n messages, oldest first, and reports whether more follow. It
// leaves out records that no model sees, unless all are wanted.
func (s *reader) list(ctx context.Context, q store.MessageQuery, n int, all bool) (ms []Message, more bool, err error) {
	q.NoRaw, q.Erased = true, true
	ms = []Message{}
	for m, err := range s.record.Messages(ctx, q) {
		if err != nil {
			return nil, false, err
		}
		if m.Flags&store.FlagHidden != 0 && !all {
			continue
		}
		if len(ms) == n {
			more = true
			break
		}
		ms = append(ms, showMessage(m, false))
	}
	if q.Newest {
		slices.Reverse(ms)
	}
	return ms, more, nil
}

func markDays(ms []Message, zone *time.Location) {
	day := ""
	for i := range ms {
		if t := ms[i].Body.Time; !t.IsZero() {
			today := t.In(zone).Format(time.DateOnly)
			ms[i].NewDay = today != day
			day = today
		}
	}
}

// related lists the sub-agents and forks of a conversation.
func (s *reader) related(ctx context.Context, c store.Conversation) ([]Session, error) {
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	var found []Session
	for _, o := range all {
		if o.Parent != c.ID && o.ForkedFrom != c.ID && o.ID != c.Parent && o.ID != c.ForkedFrom {
			continue
		}
		v, err := s.session(ctx, o)
		if err != nil {
			return nil, err
		}
		if found = append(found, v); len(found) == 50 {
			break
		}
	}
	slices.SortFunc(found, func(a, b Session) int { return a.Created.Compare(b.Created) })
	return found, nil
}

// relation says how a related session belongs to this one.
func (d sessionData) relation(o Session) string {
	switch {
	case o.Parent == d.Session.ID:
		return "sub-agent"
	case o.ForkedFrom == d.Session.ID:
		return "fork"
	case o.ID == d.Session.Parent:
		return "started by"
	}
	return "forked from"
}

// events tells a page when its session has grown.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	c, err := s.conversation(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	known, told := int64(-1), time.Now()
	for {
		if c.Messages != known {
			known, told = c.Messages, time.Now()
			_, err = fmt.Fprintf(w, "event: messages\ndata: %d\n\n", known)
		} else if time.Since(told) > 15*time.Second {
			told = time.Now()
			_, err = fmt.Fprint(w, ": still here\n\n")
		}
		if err = cmp.Or(err, out.Flush()); err != nil {
			return
		}
		if store.Wait(r.Context(), 400*time.Millisecond) != nil {
			return
		}
		if c, err = s.record.Conversation(r.Context(), c.ID); err != nil {
			return
		}
	}
}

// base returns the name of a project's directory or repository.
func base(project string) string {
	project = strings.TrimRight(project, "/")
	return project[strings.LastIndex(project, "/")+1:]
}
