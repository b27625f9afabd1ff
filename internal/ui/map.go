package ui

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Block is a summary in the map of a session, or a run of summaries that are too
// small to be drawn alone.
type Block struct {
	ID       store.SummaryID `json:"id,omitempty"` // empty for a run
	Count    int             `json:"count"`        // of summaries
	Topic    string          `json:"topic"`        // of the first
	Depth    int             `json:"depth"`
	From     int64           `json:"from"` // the first message, by Seq
	To       int64           `json:"to"`   // the one after the last
	Messages int             `json:"messages"`
	Tokens   int             `json:"tokens"`
	Earliest time.Time       `json:"earliestAt"`
	Latest   time.Time       `json:"latestAt"`
}

// mapData is an icicle: time runs downwards, and each depth is a column, the
// deepest on the left. The last column is the messages.
type mapData struct {
	Session  store.ConversationID `json:"session"`
	Messages int64                `json:"messages"`
	Depths   int                  `json:"depths"`
	Blocks   []Block              `json:"blocks"`
}

func (mapData) title() string { return "Summaries" }

// The size of the drawing, in its own units. The page stretches it.
const (
	mapWidth  = 120
	mapHeight = 1000
	bands     = 100
)

// Shape is a drawn block.
type Shape struct {
	Block
	X, Y, Width, Height float64
	Path, Label         string
}

// shapes returns the blocks to draw.
func (m mapData) shapes(when func(time.Time) string) []Shape {
	column := mapWidth / float64(m.Depths+1)
	all := make([]Shape, 0, len(m.Blocks))
	for _, b := range m.Blocks {
		s := Shape{Block: b, X: column * float64(m.Depths-1-b.Depth), Width: column, Y: m.y(b.From)}
		s.Height = m.y(b.To) - s.Y
		s.Path = "/summary/" + string(b.ID)
		s.Label = fmt.Sprintf("%s · %s, depth %d, %s to %s", b.Topic, prose.Count(b.Messages, "message", "messages"), b.Depth, when(b.Earliest), when(b.Latest))
		if b.ID == "" {
			s.Path = fmt.Sprintf("/session/%d?at=%d", m.Session, b.From)
			s.Label = prose.Count(b.Count, "summary", "summaries") + s.Label[len(b.Topic):]
		}
		all = append(all, s)
	}
	return all
}

// bands returns the parts of the column of messages.
func (m mapData) bands() []Shape {
	column := mapWidth / float64(m.Depths+1)
	n := min(bands, m.Messages)
	all := make([]Shape, 0, n)
	for i := range n {
		from, to := 1+i*m.Messages/n, 1+(i+1)*m.Messages/n
		s := Shape{Block: Block{From: from, To: to}, X: column * float64(m.Depths), Width: column, Y: m.y(from)}
		s.Height, s.Path = m.y(to)-s.Y, fmt.Sprintf("/session/%d?at=%d", m.Session, from)
		s.Label = fmt.Sprintf("Messages %s to %s", prose.Number(from), prose.Number(to-1))
		all = append(all, s)
	}
	return all
}

func (m mapData) y(seq int64) float64 {
	return float64(seq-1) / float64(max(m.Messages, 1)) * mapHeight
}

// mapPage loads the map of a session.
func (s *Server) mapPage(r *http.Request) (mapData, error) {
	c, err := s.conversation(r)
	if err != nil {
		return mapData{}, err
	}
	return s.sessionMap(r.Context(), c)
}

func (s *reader) sessionMap(ctx context.Context, c store.Conversation) (mapData, error) {
	m := mapData{Session: c.ID, Messages: c.Messages}
	offset, err := s.offset(ctx, c)
	if err != nil {
		return m, err
	}
	var all []Block
	for sum, err := range s.record.Summaries(ctx, store.SummaryQuery{Conversation: c.ID}) {
		if err != nil {
			return m, err
		}
		if sum.Retired {
			continue
		}
		all = append(all, Block{ID: sum.ID, Count: 1, Topic: topic(sum.Body), Depth: sum.Depth, From: sum.Pos - offset, Messages: sum.Messages, Tokens: sum.Tokens, Earliest: sum.Earliest, Latest: sum.Latest})
		m.Depths = max(m.Depths, sum.Depth+1)
	}
	m.Blocks = coalesce(extend(all, c.Messages), m.Depths, max(c.Messages/(mapHeight*3/4), 1))
	return m, nil
}

// offset returns the difference between positions in the view and sequence
// numbers, which only a fork has.
func (s *reader) offset(ctx context.Context, c store.Conversation) (int64, error) {
	if c.ForkedFrom == 0 {
		return 0, nil
	}
	v, err := s.record.View(ctx, c.ID, store.Window{Newest: 1})
	if err != nil || len(v.Items) == 0 || v.Items[len(v.Items)-1].IsSummary() {
		return 0, err
	}
	last := v.Items[len(v.Items)-1]
	m, err := store.First(s.record.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{last.Message}, NoRaw: true}))
	if err != nil || m.Conversation != c.ID {
		return 0, err
	}
	return last.Pos - m.Seq, nil
}

// extend computes where each block ends: a leaf at the next leaf, where only
// records that are not in the view lie between them, and a condensed summary with
// the last leaf that it covers.
func extend(all []Block, messages int64) []Block {
	slices.SortStableFunc(all, func(a, b Block) int { return int(a.From - b.From) })
	var leaves []Block
	for i := range all {
		b := &all[i]
		b.From = max(b.From, 1)
		b.To = min(b.From+int64(b.Messages), messages+1)
		if b.Depth == 0 {
			if n := len(leaves); n > 0 && b.From-leaves[n-1].To < int64(leaves[n-1].Messages) {
				leaves[n-1].To = b.From
			}
			leaves = append(leaves, *b)
		}
	}
	for i := range all {
		b := &all[i]
		at, _ := slices.BinarySearchFunc(leaves, b.From, func(l Block, from int64) int { return int(l.From - from) })
		for left := b.Messages; at < len(leaves) && left > 0; at++ {
			left -= leaves[at].Messages
			b.To = max(b.To, leaves[at].To)
		}
	}
	return all
}

// coalesce joins neighbours of one depth that cover fewer than least messages.
func coalesce(all []Block, depths int, least int64) []Block {
	out := make([]Block, 0, min(len(all), 4096))
	for depth := depths - 1; depth >= 0; depth-- {
		first := len(out)
		for _, b := range all {
			if b.Depth != depth {
				continue
			}
			if n := len(out); n > first {
				if last := &out[n-1]; last.To-last.From < least && b.To-b.From < least && b.From-last.To < least {
					last.ID, last.To, last.Count = "", b.To, last.Count+b.Count
					last.Messages, last.Tokens, last.Latest = last.Messages+b.Messages, last.Tokens+b.Tokens, b.Latest
					continue
				}
			}
			out = append(out, b)
		}
	}
	return out
}
