package ui

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
)

// searchCounts are the counts of the filters of a search and its histogram. They count
// messages, the newest first.
type searchCounts struct {
	// Roles, Hosts and Projects count the matches before these filters.
	Roles    []Count `json:"roles"`
	Hosts    []Count `json:"hosts"`
	Projects []Count `json:"projects"`
	Bars     []Bar   `json:"bars"`
	Counted  int     `json:"counted"`
	Cut      bool    `json:"-"` // there are older matches
	AllTimes string  `json:"-"` // the path without bounds of time, if there are bounds
}

func (searchCounts) title() string { return "Matches by role, host, project and time" }

// Bar is a span of time in the histogram.
type Bar struct {
	Since  time.Time `json:"since"`
	Before time.Time `json:"before"`
	Count  int       `json:"count"`
	X      float64   `json:"-"`
	Y      float64   `json:"-"`
	Height float64   `json:"-"`
	Path   string    `json:"-"`
	Label  string    `json:"-"`
}

// Bounds of the matches that are counted. The index has all that is counted of words: of
// a million messages, 20,000 matches take 50 ms. Regular expressions, phrases and
// prefixes are looked for in the texts, which takes 25 µs each.
const (
	countedWords = 20_000
	countedTexts = 2_000
)

// countsPage counts the matches of a search. The page of a search loads it after the
// matches.
func (s *Server) countsPage(r *http.Request) (c searchCounts, err error) {
	d := searchOf(r)
	if strings.TrimSpace(d.Query) == "" {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return c, err
	}
	return s.count(ctx, r, d, all)
}

// count counts the newest matches among messages.
func (s *Server) count(ctx context.Context, r *http.Request, d searchData, all []store.Conversation) (c searchCounts, err error) {
	search := store.Search{Mode: d.mode(), Pattern: d.Query, Tool: d.Tool, Everything: d.All, Limit: countedWords, Sort: store.ByRecency}
	if search.Mode == store.Regex || strings.ContainsAny(d.Query, `"*`) {
		search.Limit = countedTexts
	}
	if search.Since, search.Before, err = lookup.Span(localTime(d.Since), localTime(d.Before), time.Now()); err != nil {
		return c, err
	}
	found, err := s.record.Search(ctx, search)
	if err != nil {
		return c, err
	}
	by := make(map[store.ConversationID]store.Conversation, len(all))
	for _, o := range all {
		by[o.ID] = o
	}
	roles, hosts, projects := map[string]int{}, map[string]int{}, map[string]int{}
	var times []time.Time
	for _, h := range found.Hits {
		o := by[h.Conversation]
		role, name := string(h.Role), o.Project.Name()
		isRole, isHost, isProject := d.Role == "" || role == d.Role, d.Host == "" || o.Agent == d.Host, d.Project == "" || name == d.Project
		if isHost && isProject {
			roles[role]++
		}
		if isRole && isProject {
			hosts[o.Agent]++
		}
		if isRole && isHost {
			projects[name]++
		}
		if isRole && isHost && isProject {
			times = append(times, h.Time)
		}
	}
	page := r.Clone(ctx)
	page.URL.Path = "/search"
	c = searchCounts{
		Roles: counts(page, "role", roles, d.Role), Hosts: counts(page, "host", hosts, d.Host), Projects: counts(page, "project", projects, d.Project),
		Bars: histogram(page, times), Counted: len(found.Hits), Cut: found.Next != nil,
	}
	if d.Since != "" || d.Before != "" {
		c.AllTimes = with(page, "since", "", "before", "")
	}
	return c, nil
}

// The histogram's measures.
const (
	barCount   = 48
	barWidth   = 10
	barsHeight = 60
)

// histogram counts times in equal spans.
func histogram(r *http.Request, times []time.Time) []Bar {
	if len(times) < 2 {
		return nil
	}
	slices.SortFunc(times, time.Time.Compare)
	first := times[0].Truncate(time.Second)
	span := max(times[len(times)-1].Sub(first)/barCount, time.Second) + 1
	span = span.Truncate(time.Second) + time.Second
	bars := make([]Bar, barCount)
	most := 0
	for _, t := range times {
		b := &bars[t.Sub(first)/span]
		b.Count++
		most = max(most, b.Count)
	}
	for i := range bars {
		b := &bars[i]
		b.Since = first.Add(time.Duration(i) * span)
		b.Before = b.Since.Add(span)
		b.X, b.Height = float64(i*barWidth), float64(b.Count)*barsHeight/float64(most)
		if b.Count > 0 {
			b.Height = max(b.Height, 2)
		}
		b.Y = barsHeight - b.Height
		b.Path = with(r, "since", b.Since.UTC().Format(time.RFC3339), "before", b.Before.UTC().Format(time.RFC3339))
		b.Label = prose.Count(b.Count, "match", "matches") + ", " + when(b.Since) + " to " + when(b.Before)
	}
	return bars
}
