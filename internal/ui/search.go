package ui

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Found is a match as a page shows it.
type Found struct {
	recall.Match
	Path string `json:"path"`
	HTML markup `json:"-"` // the snippet with its matches marked
}

// searchData is the data of the search page.
type searchData struct {
	Query   string  `json:"query"`
	Mode    string  `json:"mode"` // words or regex
	Role    string  `json:"role,omitempty"`
	Tool    string  `json:"tool,omitempty"`
	Host    string  `json:"host,omitempty"`
	Project string  `json:"project,omitempty"`
	Since   string  `json:"since,omitempty"`
	Before  string  `json:"before,omitempty"`
	All     bool    `json:"all,omitempty"` // with the hosts' own records
	Matches []Found `json:"matches"`
	Total   int     `json:"total"`
	AtLeast bool    `json:"atLeast,omitempty"`
	Roles   []Count `json:"roles"`
	Hosts   []Count `json:"hosts"`
	// Projects, Roles and Hosts count the matches before these filters.
	Projects []Count  `json:"projects"`
	Bars     []Bar    `json:"bars"`
	Notes    []string `json:"notes,omitempty"`
	Cursor   string   `json:"cursor,omitempty"`
	Next     string   `json:"-"` // the path of the next page
	AllTimes string   `json:"-"` // the path without bounds of time
	Tools    string   `json:"-"` // the path of the counts of tools
	Counted  int      `json:"counted"`
	Refused  string   `json:"refused,omitempty"`
}

func (d searchData) title() string {
	if d.Query == "" {
		return "Search"
	}
	return "Search: " + prose.Clip(d.Query, 60)
}

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

const (
	pageMatches = 30
	// countedMatches is how many matches the counts and the histogram look at.
	countedMatches = 2000
	searchTime     = 20 * time.Second
)

func (s *Server) searchPage(r *http.Request) (d searchData, err error) {
	d = searchOf(r)
	if strings.TrimSpace(d.Query) == "" {
		return d, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return d, err
	}
	req := recall.GrepRequest{
		Pattern: d.Query, Mode: d.mode(), Role: llms.Role(d.Role), Tool: d.Tool, Since: d.Since, Before: d.Before, Everything: d.All,
		Limit: pageMatches, Cursor: r.URL.Query().Get("cursor"), Snippet: 300,
	}
	in, narrowed := d.conversations(all)
	if req.AllConversations = !narrowed; narrowed && len(in) > 0 {
		req.CurrentOnly, req.Current, req.Also = true, in[0], in[1:]
	}
	if !narrowed || len(in) > 0 {
		a, err := s.recall.Grep(ctx, req)
		if status(err) == http.StatusBadRequest && err != nil {
			d.Refused = searchWords.Replace(refusal(err)) // the user is still typing
			return d, nil
		}
		if err != nil {
			return d, err
		}
		d.Total, d.AtLeast, d.Notes, d.Cursor = a.Total, a.TotalIsLowerBound, advice(a.Notes), a.NextCursor
		for _, m := range a.Matches {
			d.Matches = append(d.Matches, Found{m, pathOf(m.ID), mark(m.Snippet, m.MatchRanges)})
		}
	}
	if d.Cursor != "" {
		d.Next = with(r, "cursor", "")
		d.Next += "&cursor=" + url.QueryEscape(d.Cursor)
	}
	d.AllTimes = with(r, "since", "", "before", "")
	d.Tools = "/search/tools?" + with(r)[len(r.URL.Path)+1:]
	return d, s.count(ctx, r, &d, all, req)
}

// conversations returns those that the filters select, and whether there are
// filters.
func (d searchData) conversations(all []store.Conversation) (ids []store.ConversationID, narrowed bool) {
	for _, c := range all {
		if (d.Host == "" || c.Agent == d.Host) && (d.Project == "" || recall.ProjectName(c.Project) == d.Project) {
			ids = append(ids, c.ID)
		}
	}
	return ids, d.Host != "" || d.Project != ""
}

// count fills in the counts of the filters and the histogram, from the first
// matches among messages.
func (s *Server) count(ctx context.Context, r *http.Request, d *searchData, all []store.Conversation, req recall.GrepRequest) error {
	search := store.Search{Mode: req.Mode, Pattern: req.Pattern, Tool: req.Tool, Everything: d.All, Limit: countedMatches, CountTo: countedMatches, Sort: store.ByRecency}
	var err error
	if search.Since, search.Before, err = recall.Span(d.Since, d.Before, time.Now()); err != nil {
		return err
	}
	found, err := s.record.Search(ctx, search)
	if err != nil {
		return err
	}
	by := make(map[store.ConversationID]store.Conversation, len(all))
	for _, c := range all {
		by[c.ID] = c
	}
	roles, hosts, projects := map[string]int{}, map[string]int{}, map[string]int{}
	var times []time.Time
	for _, h := range found.Hits {
		c := by[h.Conversation]
		role, name := string(h.Role), recall.ProjectName(c.Project)
		isRole, isHost, isProject := d.Role == "" || role == d.Role, d.Host == "" || c.Agent == d.Host, d.Project == "" || name == d.Project
		if isHost && isProject {
			roles[role]++
		}
		if isRole && isProject {
			hosts[c.Agent]++
		}
		if isRole && isHost {
			projects[name]++
		}
		if isRole && isHost && isProject {
			times = append(times, h.Time)
		}
	}
	d.Counted = len(found.Hits)
	d.Roles, d.Hosts, d.Projects = counts(r, "role", roles, d.Role), counts(r, "host", hosts, d.Host), counts(r, "project", projects, d.Project)
	d.Bars = histogram(r, times)
	return nil
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

// mark escapes a snippet and marks its matches, which count code points.
func mark(snippet string, ranges [][2]int) markup {
	runes := []rune(snippet)
	var b strings.Builder
	at := 0
	write := func(to int) {
		to = min(max(to, at), len(runes))
		b.WriteString(html.EscapeString(safetext.Text(string(runes[at:to]))))
		at = to
	}
	for _, m := range ranges {
		write(m[0])
		b.WriteString("<mark>")
		write(m[1])
		b.WriteString("</mark>")
	}
	write(len(runes))
	return markup(b.String())
}
