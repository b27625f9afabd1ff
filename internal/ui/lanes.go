package ui

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Branch is a run of messages that a rewind took out of the view: the conversation
// went on from an earlier message.
type Branch struct {
	After int64  `json:"after"` // Seq of the message that it follows, 0 for none
	First int64  `json:"first"` // of its messages, by Seq
	Last  int64  `json:"last"`
	Cause string `json:"cause,omitempty"`
}

// Lane is drawn beside the messages of a session: a sub-agent, a fork, or a branch
// that was left.
type Lane struct {
	Kind    string               `json:"kind"` // sub-agent, fork or branch
	Session store.ConversationID `json:"session,omitempty"`
	Title   string               `json:"title"`
	From    int64                `json:"from"` // Seq of the first message beside it
	To      int64                `json:"to"`   // of the one after the last
	Count   int64                `json:"messages"`
	Track   int                  `json:"-"` // its column
}

const (
	// mostTracks is how many lanes are drawn side by side.
	mostTracks = 4
	trackWidth = 9
	// placeSamples is how many messages are read to find places by time.
	placeSamples = 64
)

// branches returns the branches of a conversation that were left.
func (s *reader) branches(ctx context.Context, c store.Conversation) ([]Branch, error) {
	if s.listBranches == nil {
		return nil, nil
	}
	return s.listBranches(ctx, c.ID)
}

// lanes returns the lanes of a conversation, in their order.
func (s *reader) lanes(ctx context.Context, c store.Conversation) ([]Lane, error) {
	left, err := s.branches(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []Lane
	for _, b := range left {
		n := b.Last - b.First + 1
		all = append(all, Lane{Kind: "branch", Title: prose.Count(n, "message", "messages") + " on a branch that was left", From: b.First, To: b.Last + 1, Count: n})
	}
	related, err := s.related(ctx, c)
	if err != nil {
		return nil, err
	}
	var place func(time.Time) int64
	for _, o := range related {
		if o.Parent != c.ID && o.ForkedFrom != c.ID {
			continue
		}
		if place == nil {
			if place, err = s.places(ctx, c); err != nil {
				return nil, err
			}
		}
		l := Lane{Kind: "sub-agent", Session: o.ID, Title: o.Title, From: place(o.Created), To: place(o.Updated) + 1, Count: o.Messages}
		if o.ForkedFrom == c.ID {
			l.Kind = "fork"
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b Lane) int { return cmp.Compare(a.From, b.From) })
	var ends [mostTracks]int64
	for i := range all {
		l := &all[i]
		for l.Track = 0; l.Track < mostTracks-1 && ends[l.Track] > l.From; {
			l.Track++
		}
		ends[l.Track] = l.To
	}
	return all, nil
}

// places returns a function that finds the Seq of a time, near enough for a drawing:
// it reads a few messages and interpolates between them.
func (s *reader) places(ctx context.Context, c store.Conversation) (func(time.Time) int64, error) {
	type sample struct {
		seq int64
		at  time.Time
	}
	var all []sample
	for i := range int64(placeSamples) {
		seq := 1 + i*max(c.Messages-1, 0)/(placeSamples-1)
		if n := len(all); n > 0 && all[n-1].seq >= seq {
			continue
		}
		for m, err := range s.record.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: seq - 1, Limit: 1, NoRaw: true}) {
			if err != nil {
				return nil, err
			}
			if !m.Body.Time.IsZero() {
				all = append(all, sample{m.Seq, m.Body.Time})
			}
		}
	}
	return func(t time.Time) int64 {
		i := sort.Search(len(all), func(i int) bool { return all[i].at.After(t) })
		switch {
		case i == 0:
			return 1
		case i == len(all):
			return max(c.Messages, 1)
		}
		a, b := all[i-1], all[i]
		return a.seq + int64(float64(b.seq-a.seq)*float64(t.Sub(a.at))/float64(b.at.Sub(a.at)))
	}, nil
}

// tracks is how many columns the lanes take.
func (m mapData) tracks() int {
	n := 0
	for _, l := range m.Lanes {
		n = max(n, l.Track+1)
	}
	return n
}

// column is the width of the column of a depth, and of the messages.
func (m mapData) column() float64 {
	return float64(mapWidth-trackWidth*m.tracks()) / float64(m.Depths+1)
}

// laneShapes returns the lanes to draw, on the right of the messages.
func (m mapData) laneShapes() []Shape {
	var all []Shape
	for _, l := range m.Lanes {
		s := Shape{X: mapWidth - float64(trackWidth*(m.tracks()-l.Track)) + 2, Width: trackWidth - 2, Y: m.y(l.From), Kind: l.Kind}
		s.Height = max(m.y(l.To)-s.Y, mapHeight/200)
		s.Path, s.Label = fmt.Sprintf("/session/%d", l.Session), l.Kind+": "+l.Title+", "+prose.Count(l.Count, "message", "messages")
		if l.Session == 0 {
			s.Path, s.Label = fmt.Sprintf("/session/%d?at=%d", m.Session, l.From), l.Title
		}
		all = append(all, s)
	}
	return all
}

// markLanes notes on messages the sub-agents and forks that begin after them, and
// the branches that they are on. more says whether messages follow.
func (s *reader) markLanes(r *http.Request, c store.Conversation, ms []Message, related []Session, more bool) error {
	left, err := s.branches(r.Context(), c)
	if err != nil {
		return err
	}
	for i := range ms {
		for _, b := range left {
			if b.First <= ms[i].Seq && ms[i].Seq <= b.Last {
				ms[i].OnBranch, ms[i].BranchStart = true, ms[i].BranchStart || ms[i].Seq == b.First
				ms[i].BranchAfter = b.After
			}
		}
	}
	for _, o := range related {
		if o.Parent != c.ID && o.ForkedFrom != c.ID {
			continue
		}
		at := -1
		for i := range ms {
			if !ms[i].Time.IsZero() && !ms[i].Time.After(o.Created) {
				at = i
			}
		}
		if at >= 0 && (at < len(ms)-1 || !more) {
			ms[at].Begins = append(ms[at].Begins, o)
		}
	}
	return nil
}
