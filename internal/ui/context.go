package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

// Bounds of the context page.
const (
	leastBudget = 2_000
	mostBudget  = 1_000_000
	// mostReplayed bounds how many messages are folded again for a page.
	mostReplayed = 5_000
	replaySteps  = 40
)

// contextData is the data of the pages that show a context: of the view that is
// stored, or of a replay up to a point of the session.
type contextData struct {
	Session Session `json:"session"`
	Stored  bool    `json:"stored,omitempty"`
	At      int64   `json:"at"` // the last message, by Seq
	Budget  int     `json:"budget"`
	Tokens  int     `json:"tokens"`
	History int64   `json:"history"` // tokens of the messages up to At
	// From is the first message that was replayed: 1, or later in a long session.
	From    int64         `json:"from"`
	Kinds   []Share       `json:"kinds"`
	Items   []ContextItem `json:"items"`
	Left    int           `json:"left"` // items that did not fit
	Refused string        `json:"refused,omitempty"`
	Later   string        `json:"-"` // the path of the context, if it is loaded later
	// Sent counts the requests of the session that came through lcm.
	Sent int `json:"sent,omitempty"`
}

func (d contextData) title() string {
	if d.Stored {
		return "Stored context of " + d.Session.Title
	}
	return "Replayed context of " + d.Session.Title
}

// Share is the part of a context of one kind.
type Share struct {
	Kind   string  `json:"kind"`
	Class  string  `json:"-"`
	Items  int     `json:"items"`
	Tokens int     `json:"tokens"`
	X      float64 `json:"-"`
	Width  float64 `json:"-"`
}

// ContextItem is a message or summary of a context.
type ContextItem struct {
	Kind    string   `json:"kind"`
	Class   string   `json:"-"`
	Tokens  int      `json:"tokens"`
	Summary string   `json:"summary,omitempty"` // the text of a summary
	Covers  int      `json:"covers,omitempty"`  // messages of a summary
	Message *Message `json:"message,omitempty"`
}

// storedPage shows what `lcm context` prints: the view that is kept of the session,
// within its budget. ?at= is kept for the link to the replay.
func (s *Server) storedPage(r *http.Request) (d contextData, err error) {
	ctx := r.Context()
	c, err := s.conversation(r)
	if err != nil {
		return d, err
	}
	d = contextData{Stored: true, From: 1, History: c.Tokens}
	if d.At, err = positive(r, "at", c.Messages); err != nil {
		return d, err
	}
	sent, err := s.requests(ctx, c.Key)
	if err != nil {
		return d, err
	}
	d.Sent = len(sent)
	if d.Session, err = s.session(ctx, c); err != nil {
		return d, err
	}
	session, err := s.Engine.Resume(ctx, c.ID)
	if err != nil {
		return d, err
	}
	shown, err := session.Preview(ctx, 0)
	if err != nil {
		return d, d.refuse(err)
	}
	d.Budget, d.Tokens, d.Left = shown.Budget, shown.Tokens, len(shown.Dropped)+shown.Skipped
	var ids []store.MessageID
	for _, it := range shown.Items {
		if !it.IsSummary() {
			ids = append(ids, it.Message)
		}
	}
	messages := map[store.MessageID]store.Message{}
	for m, err := range s.record.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
		if err != nil {
			return d, err
		}
		messages[m.ID] = m
	}
	return d, d.fill(ctx, s.record, shown, messages)
}

// refuse keeps the error of a budget that is too small for the page to tell, and
// returns any other.
func (d *contextData) refuse(err error) error {
	var small *assemble.BudgetError
	if !errors.As(err, &small) {
		return err
	}
	d.Refused = fmt.Sprintf("The newest round of messages needs %s tokens: nothing useful fits this budget.", prose.Number(small.Need))
	return nil
}

func (s *Server) contextPage(r *http.Request) (d contextData, err error) {
	c, err := s.conversation(r)
	if err != nil {
		return d, err
	}
	if d, err = s.replayed(r, c); err != nil {
		return d, err
	}
	sent, err := s.requests(r.Context(), c.Key)
	d.Sent = len(sent)
	return d, err
}

// replayed returns the context at ?at= with ?budget=.
func (s *Server) replayed(r *http.Request, c store.Conversation) (contextData, error) {
	ctx := r.Context()
	at, err := positive(r, "at", c.Messages)
	if err != nil {
		return contextData{}, err
	}
	budget, err := positive(r, "budget", int64(s.Budget))
	if err != nil {
		return contextData{}, err
	}
	at = min(max(at, 1), max(c.Messages, 1))
	budget = min(max(budget, leastBudget), mostBudget)
	d := contextData{At: at, Budget: int(budget), From: max(1, at-mostReplayed+1)}
	if d.Session, err = s.session(ctx, c); err != nil {
		return d, err
	}
	if later(r) {
		d.Later = fmt.Sprintf("/session/%d/context?at=%d&budget=%d", c.ID, at, budget)
		return d, nil
	}
	if err := s.replay(ctx, c, &d); err != nil {
		if err := d.refuse(err); err != nil {
			return d, err
		}
	}
	return d, nil
}

// replay appends the messages up to d.At to a scratch store in steps, and
// assembles the context after each, as an agent that uses the budget would have
// done. Summaries are extractive.
func (s *Server) replay(ctx context.Context, c store.Conversation, d *contextData) error {
	engine, closed, err := s.Scratch(ctx)
	if err != nil {
		return err
	}
	defer closed()
	session := engine.Session(c.Key)
	step := max(1, (d.At-d.From+1)/replaySteps)
	messages := map[store.MessageID]store.Message{} // by their ids in the scratch store
	var batch []ingest.Input
	var read []store.Message
	var seqs []int64 // of the messages in the scratch store
	var shown lcm.Context
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		done, err := session.AppendInputs(ctx, batch...)
		if err != nil {
			return err
		}
		for i, a := range done {
			messages[a.ID] = read[i]
			seqs = append(seqs, read[i].Seq)
		}
		batch, read = nil, nil
		_, err = session.Context(ctx, d.Budget)
		if err == nil {
			err = engine.Settle(ctx) // Context waits for a second at most, and a replay is the same on a slow machine
		}
		if err == nil {
			shown, err = session.Context(ctx, d.Budget)
		}
		return err
	}
	q := store.MessageQuery{Conversation: c.ID, After: d.From - 1, Before: d.At + 1, NoRaw: true}
	for m, err := range s.record.Messages(ctx, q) {
		if err != nil {
			return err
		}
		copied := m.Body
		copied.ID, copied.Raw, copied.Parts = fmt.Sprint(m.ID), llms.Raw{}, inlined(m.Body.Parts)
		batch, read = append(batch, ingest.Input{Message: copied, Flags: m.Flags &^ (store.FlagMasked | store.FlagRedacted)}), append(read, m)
		if int64(len(batch)) >= step {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	now, err := session.Conversation(ctx)
	if err != nil {
		return err
	}
	d.History, d.Tokens, d.Left = now.Tokens, shown.Tokens, len(shown.Dropped)+shown.Skipped
	if err := d.fill(ctx, engine.Store(), shown, messages); err != nil {
		return err
	}
	for i := range d.Items {
		d.Items[i].Summary = renumber(d.Items[i].Summary, seqs)
	}
	return nil
}

// inlined returns parts with the text of references in place of content that the
// scratch store does not have.
func inlined(parts []llms.Part) []llms.Part {
	out := make([]llms.Part, len(parts))
	for i, p := range parts {
		switch {
		case p.Ref != nil:
			p = llms.Part{Kind: llms.PartText, Text: p.Ref.String()}
		case p.Result != nil:
			r := *p.Result
			r.Output = inlined(r.Output)
			p.Result = &r
		}
		out[i] = p
	}
	return out
}

// fill lists the items of a context and their shares by kind.
func (d *contextData) fill(ctx context.Context, scratch store.Reader, shown lcm.Context, messages map[store.MessageID]store.Message) error {
	lastUser := -1
	for i, it := range shown.Items {
		if m := messages[it.Message]; !it.IsSummary() && m.Body.Role == llms.RoleUser && m.Flags.Said() {
			lastUser = i
		}
	}
	by := map[string]*Share{}
	for i, it := range shown.Items {
		item := ContextItem{Tokens: it.Tokens}
		if it.IsSummary() {
			sum, err := store.First(scratch.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{it.Summary}}))
			if err != nil {
				return err
			}
			item.Kind, item.Class = fmt.Sprintf("summaries, depth %d", sum.Depth), fmt.Sprintf("d%d", min(sum.Depth, 5))
			item.Summary, item.Covers = sum.Body, sum.Messages
		} else {
			m := messages[it.Message]
			v := showMessage(m, false)
			item.Message = &v
			item.Kind, item.Class = kindOf(m.Body), "messages"
			if i == lastUser && i+1 < len(shown.Items) && !follows(messages, it.Message, shown.Items[i+1].ID) {
				item.Kind = "pinned"
			}
			item.Class = item.Kind
		}
		d.Items = append(d.Items, item)
		if by[item.Kind] == nil {
			by[item.Kind] = &Share{Kind: item.Kind, Class: item.Class}
		}
		by[item.Kind].Items++
		by[item.Kind].Tokens += it.Tokens
	}
	order := []string{"system"}
	for depth := 8; depth >= 0; depth-- {
		order = append(order, fmt.Sprintf("summaries, depth %d", depth))
	}
	for _, kind := range append(order, "pinned", "messages", "tools") {
		if share := by[kind]; share != nil {
			d.Kinds = append(d.Kinds, *share)
		}
	}
	layShares(d.Kinds, max(d.Budget, d.Tokens))
	return nil
}

// layShares places the parts of a bar that is 1,000 wide for a number of tokens.
func layShares(shares []Share, tokens int) {
	x := 0.0
	for i := range shares {
		shares[i].X, shares[i].Width = x, float64(shares[i].Tokens)/float64(max(tokens, 1))*1000
		x += shares[i].Width
	}
}

// kindOf returns the kind of a message in a context.
func kindOf(m llms.Message) string {
	switch {
	case m.Role == llms.RoleSystem:
		return "system"
	case m.Role == llms.RoleTool || len(m.ToolCalls()) > 0 || len(m.ToolResults()) > 0:
		return "tools"
	}
	return "messages"
}

// follows reports whether a node of a context is the message after another one.
func follows(messages map[store.MessageID]store.Message, id store.MessageID, next store.ID) bool {
	return !next.IsSummary() && messages[next.Message].Seq == messages[id].Seq+1
}
