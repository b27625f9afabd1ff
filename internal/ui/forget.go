package ui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

// forgetData is the data of the page that erases: the selection, and the extent of
// the erasure that it would make.
type forgetData struct {
	// IDs are numbers of sessions or ids of messages.
	IDs   string `json:"ids,omitempty"`
	Match string `json:"match,omitempty"` // a regular expression

	Extent *store.Erased `json:"extent,omitempty"`
	Rows   []ExtentRow   `json:"-"`
	// Sessions and Messages name the first things that would be erased.
	Sessions []Session   `json:"sessions,omitempty"`
	Messages []Reference `json:"messages,omitempty"`
	Left     int64       `json:"left,omitempty"` // messages that are not listed
	Refused  string      `json:"refused,omitempty"`
	// Changed says that the record changed between the preview and the order.
	Changed bool `json:"changed,omitempty"`
	// Seen identifies the previewed extent, so that nothing else is erased.
	Seen       string            `json:"seen,omitempty"`
	Tombstones []store.Tombstone `json:"tombstones"`
	Done       *store.Tombstone  `json:"done,omitempty"` // the erasure that was just made
	Unfinished bool              `json:"unfinished,omitempty"`
	Later      string            `json:"-"` // the path of the preview, if it is loaded later
}

func (forgetData) title() string { return "Forget" }

// ExtentRow is a line of the extent of an erasure.
type ExtentRow struct {
	One, Many, Detail string
	Count             int64
}

// previewed is how many of the messages a preview lists.
const previewed = 20

func forgetOf(v url.Values) forgetData {
	return forgetData{IDs: strings.Join(strings.Fields(v.Get("ids")), " "), Match: v.Get("match"), Tombstones: []store.Tombstone{}}
}

// selection returns the selection that the fields make. `lcm forget` has more.
func (d forgetData) selection(ctx context.Context, s *Server) (lcm.EraseQuery, error) {
	what := lcm.EraseQuery{Pattern: d.Match, Cause: "forget"}
	if d.IDs != "" && d.Match != "" {
		return what, refused("give either sessions and messages, or a pattern")
	}
	for _, id := range strings.FieldsFunc(d.IDs, func(r rune) bool { return r == ' ' || r == ',' }) {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && n > 0 {
			c, err := s.record.Conversation(ctx, store.ConversationID(n))
			if err != nil {
				return what, missing(err, "session", id)
			}
			what.Conversations = append(what.Conversations, c.ID)
			continue
		}
		parsed, err := store.ParseID(id)
		if err != nil || parsed.Message == 0 {
			return what, refused("%q is neither the number of a session nor the id of a message", prose.Clip(id, 40))
		}
		what.Messages = append(what.Messages, parsed.Message)
	}
	if what.Messages != nil && what.Conversations != nil {
		return what, refused("sessions and messages are forgotten one after the other")
	}
	return what, nil
}

// preview finds the messages of a selection and weighs their erasure.
func (d *forgetData) preview(ctx context.Context, s *Server) (order store.Erasure, err error) {
	what, err := d.selection(ctx, s)
	if err != nil {
		return order, err
	}
	if order, err = s.Engine.Order(ctx, what); err != nil {
		return order, err
	}
	weighed, err := s.Engine.Weigh(ctx, order)
	if err != nil {
		return order, err
	}
	if weighed.Affected == nil {
		weighed.Affected = []store.ConversationID{}
	}
	d.Extent, d.Rows, d.Seen = &weighed, extentRows(weighed), seen(order, weighed)
	for _, id := range order.Conversations {
		c, err := s.record.Conversation(ctx, id)
		if err != nil {
			return order, missing(err, "session", fmt.Sprint(id))
		}
		v, err := s.session(ctx, c)
		if err != nil {
			return order, err
		}
		d.Sessions = append(d.Sessions, v)
	}
	var nodes []store.Node
	for _, id := range order.Messages[:min(len(order.Messages), previewed)] {
		nodes = append(nodes, store.Node{Message: id})
	}
	d.Left = int64(len(order.Messages) - len(nodes))
	d.Messages, err = s.references(ctx, nodes)
	return order, err
}

// seen identifies the messages and conversations that an order erases.
func seen(order store.Erasure, weighed store.Erased) string {
	h := sha256.New()
	ids := slices.Clone(order.Messages)
	slices.Sort(ids)
	fmt.Fprintln(h, order.Conversations, ids, weighed.Messages, weighed.Bytes, weighed.Conversations)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func extentRows(got store.Erased) (rows []ExtentRow) {
	for _, r := range []ExtentRow{
		{"session", "sessions", "whole", int64(got.Conversations)},
		{"message", "messages", prose.Size(got.Bytes), got.Messages},
		{"file", "files", prose.Size(got.PayloadBytes) + ", in no other message", int64(got.Payloads)},
		{"summary", "summaries", "written anew without them", int64(got.Unworded)},
		{"summary", "summaries", "of nothing else: erased", int64(got.Summaries)},
		{"title", "titles", "that quote them: erased", int64(got.Titles)},
		{"note", "notes", "that quote them: erased", int64(got.Values)},
	} {
		if r.Count > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// forgetPage shows the form, the extent of the selection in the address, and the
// erasures that were made.
func (s *Server) forgetPage(r *http.Request) (d forgetData, err error) {
	d = forgetOf(r.URL.Query())
	if d.IDs != "" || d.Match != "" {
		if later(r) {
			d.Later = r.URL.RequestURI()
			return d, nil
		}
		if _, err := d.preview(r.Context(), s); err != nil {
			if status(err) == http.StatusInternalServerError {
				return d, err
			}
			d.Refused = refusal(err)
		}
	}
	done, err := positive(r, "done", 0)
	if err != nil {
		return d, err
	}
	return d, d.loadTombstones(r.Context(), s, done)
}

func (d *forgetData) loadTombstones(ctx context.Context, s *Server, done int64) error {
	all, err := s.record.Tombstones(ctx)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	for i, t := range all {
		d.Unfinished = d.Unfinished || !t.Finished
		if t.ID == done {
			d.Done = &all[i]
		}
	}
	d.Tombstones = append(d.Tombstones, all...)
	return nil
}

// forget erases the selection of a form, if its extent is the one that the user saw
// and agreed to. An erasure goes on when the browser leaves.
func (s *Server) forget(r *http.Request) (d forgetData, err error) {
	ctx := lifetime(r)
	d = forgetOf(r.PostForm)
	if r.PostForm.Get("finish") != "" {
		if err := s.Engine.FinishErasing(ctx, nil); err != nil {
			return d, err
		}
		return d, elsewhere("/forget")
	}
	order, err := d.preview(ctx, s)
	if err != nil {
		return d, err
	}
	if d.Changed = d.Seen != r.PostForm.Get("seen"); d.Changed || r.PostForm.Get("agreed") == "" {
		return d, d.loadTombstones(ctx, s, 0)
	}
	if d.Extent.Messages == 0 && d.Extent.Conversations == 0 {
		return d, refused("nothing matches: there is nothing to erase")
	}
	done, err := s.Engine.Erase(ctx, order, nil)
	s.health.forgetCheck()
	if err != nil {
		return d, err
	}
	d.Extent = &done
	return d, elsewhere(fmt.Sprintf("/forget?done=%d", done.Tombstone))
}

// lifetimeKey is the key of the context of the server's life.
type lifetimeKey struct{}

// lifetime returns a context that lasts as long as the server, for work that goes on
// when the browser leaves.
func lifetime(r *http.Request) context.Context {
	if life, ok := r.Context().Value(lifetimeKey{}).(context.Context); ok {
		return life
	}
	return context.WithoutCancel(r.Context())
}
