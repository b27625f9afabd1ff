package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
)

// sentData is the data of the page that shows the requests of a session that came
// through lcm.
type sentData struct {
	Session  Session `json:"session"`
	Requests []Sent  `json:"requests"` // the last ones, oldest first
	Number   int     `json:"number"`   // of the chosen request, from 1
	Chosen   Sent    `json:"-"`
	// Summaries are those of the chosen request, with their texts.
	Summaries []SentSummary `json:"summaries"`
	Kinds     []Share       `json:"kinds"`
}

func (d sentData) title() string { return "Sent requests of " + d.Session.Title }

// Sent is a request of an agent that lcm passed on.
type Sent struct {
	proxy.Composition
	Number int     `json:"number"`
	Cost   float64 `json:"cost"`         // of its input, in uncached input tokens
	Added  int     `json:"addedTokens"`  // of the summaries
	Kept   int     `json:"keptMessages"` // of the agent's own
	Chosen bool    `json:"-"`
	Path   string  `json:"-"`
}

// SentSummary is a summary in a request.
type SentSummary struct {
	proxy.UsedSummary
	Gone bool   `json:"gone,omitempty"` // it was erased, or a rewind took it apart
	Body string `json:"body,omitempty"`
	Deep int    `json:"depth"`
}

// requests returns the last requests of a session, none if it was not proxied.
func (s *reader) requests(ctx context.Context, key string) ([]proxy.Composition, error) {
	made, err := proxy.Requests(ctx, s.record, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return made, err
}

// sentPage shows the request ?request=N, else the last turn of the conversation.
func (s *Server) sentPage(r *http.Request) (d sentData, err error) {
	ctx := r.Context()
	c, err := s.conversation(r)
	if err != nil {
		return d, err
	}
	if d.Session, err = s.session(ctx, c); err != nil {
		return d, err
	}
	made, err := s.requests(ctx, c.Key)
	if err != nil {
		return d, err
	}
	d.Requests, d.Summaries = []Sent{}, []SentSummary{}
	for i, m := range made {
		one := Sent{Composition: m, Number: i + 1, Cost: m.Cost(), Kept: max(0, m.Messages-m.Dropped), Path: with(r, "request", fmt.Sprint(i+1))}
		for _, sum := range m.Summaries {
			one.Added += sum.Tokens
		}
		d.Requests = append(d.Requests, one)
	}
	if len(made) == 0 {
		return d, nil
	}
	number, err := positive(r, "request", int64(proxy.LastTurn(made)+1))
	if err != nil {
		return d, err
	}
	d.Number = int(min(max(number, 1), int64(len(made))))
	d.Requests[d.Number-1].Chosen = true
	d.Chosen = d.Requests[d.Number-1]
	for _, used := range d.Chosen.Summaries {
		one := SentSummary{UsedSummary: used}
		sum, err := store.First(s.record.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{used.ID}}))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return d, err
		}
		one.Body, one.Gone, one.Deep = sum.Body, err != nil, sum.Depth
		d.Summaries = append(d.Summaries, one)
	}
	d.share()
	return d, nil
}

// share computes the parts of the chosen request, and the part that gave way.
func (d *sentData) share() {
	m := d.Chosen
	gone := max(0, m.FullTokens-(m.Tokens-m.Added))
	for _, k := range []Share{
		{Kind: "summaries", Class: "d2", Items: len(m.Summaries), Tokens: m.Added},
		{Kind: "unchanged, with instructions and tools", Class: "messages", Items: m.Kept, Tokens: m.Tokens - m.Added},
		{Kind: "not sent: the summaries stand for it", Class: "gone", Items: m.Dropped, Tokens: gone},
	} {
		if k.Tokens > 0 {
			d.Kinds = append(d.Kinds, k)
		}
	}
	layShares(d.Kinds, max(m.Tokens+gone, m.Budget))
}

// newestFirst returns the requests for the table.
func (d sentData) newestFirst() []Sent {
	all := slices.Clone(d.Requests)
	slices.Reverse(all)
	return all
}
