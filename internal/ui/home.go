package ui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Count is a name with the number of its sessions or matches.
type Count struct {
	Name  string `json:"name"`
	Label string `json:"-"`
	Count int    `json:"count"`
	On    bool   `json:"-"` // it is selected
	Path  string `json:"-"`
}

// homeData is the data of the first page.
type homeData struct {
	Sessions []Session `json:"sessions"`
	Projects []Count   `json:"projects"`
	Hosts    []Count   `json:"hosts"`
	Total    int       `json:"total"` // sessions, of all projects and hosts
	Messages int64     `json:"messages"`
	Tokens   int64     `json:"tokens"`
	Bytes    int64     `json:"bytes"`
	New      int       `json:"new"`  // sessions of the last day
	Left     int       `json:"left"` // sessions that are not listed
	Day      string    `json:"day,omitempty"`
	Filtered bool      `json:"-"`
	More     string    `json:"-"` // the path of a longer list
}

func (homeData) title() string { return "Sessions" }

// listedSessions is how many sessions the first page lists.
const listedSessions = 50

func (s *Server) home(r *http.Request) (d homeData, err error) {
	ctx, q := r.Context(), r.URL.Query()
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return d, err
	}
	limit, err := positive(r, "limit", listedSessions)
	if err != nil {
		return d, err
	}
	project, host := q.Get("project"), q.Get("host")
	d.Day = q.Get("day")
	if d.Day != "" {
		if _, err := parseDay(d.Day); err != nil {
			return d, err
		}
	}
	d.Filtered = project != "" || host != "" || d.Day != ""
	projects, hosts := map[string]int{}, map[string]int{}
	var shown []store.Conversation
	for _, c := range all {
		d.Total++
		d.Messages += c.Messages - c.Erased
		d.Tokens += c.Tokens
		d.Bytes += c.Bytes
		if time.Since(c.UpdatedAt) < 24*time.Hour {
			d.New++
		}
		name := recall.ProjectName(c.Project)
		projects[name]++
		hosts[c.Agent]++
		if (project == "" || name == project) && (host == "" || c.Agent == host) && (d.Day == "" || activeOn(c, d.Day)) {
			shown = append(shown, c)
		}
	}
	d.Projects, d.Hosts = counts(r, "project", projects, project), counts(r, "host", hosts, host)
	d.Left = max(0, len(shown)-int(limit))
	d.More = with(r, "limit", fmt.Sprint(limit+200))
	d.Sessions = []Session{}
	for _, c := range shown[:len(shown)-d.Left] {
		v, err := s.session(ctx, c)
		if err != nil {
			return d, err
		}
		d.Sessions = append(d.Sessions, v)
	}
	return d, nil
}

func activeOn(c store.Conversation, day string) bool {
	return c.CreatedAt.Local().Format(time.DateOnly) <= day && day <= c.UpdatedAt.Local().Format(time.DateOnly)
}

// counts lists names by count, each with the path that selects it or, if it is
// selected, no longer does.
func counts(r *http.Request, param string, of map[string]int, selected string) []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if name == "" {
			continue
		}
		c := Count{Name: name, Label: name, Count: of[name], On: name == selected, Path: with(r, param, name)}
		if param == "project" {
			c.Label = base(name)
		}
		if c.On {
			c.Path = with(r, param, "")
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Count) int { return cmp.Compare(b.Count, a.Count) })
	return all[:min(len(all), 12)]
}

// with returns the path of a request with one parameter changed.
func with(r *http.Request, pairs ...string) string {
	q := r.URL.Query()
	q.Del("fragment")
	q.Del("cursor")
	q.Del("now")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return r.URL.Path + "?" + q.Encode()
}

// activityCache keeps the counts of the days, and reads only new messages.
type activityCache struct {
	mu   sync.Mutex
	days map[string]int
	last store.MessageID
}

// read returns the counts of all days. An erasure keeps its day's count until the
// server starts again.
func (a *activityCache) read(ctx context.Context, count func(context.Context, store.MessageID) (map[string]int, store.MessageID, error)) (map[string]int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, last, err := count(ctx, a.last)
	if err != nil {
		return nil, err
	}
	if a.days == nil {
		a.days = map[string]int{}
	}
	for day, n := range found {
		a.days[day] += n
	}
	a.last = last
	return maps.Clone(a.days), nil
}

// activityData is a calendar of a year.
type activityData struct {
	Days map[string]int `json:"days"` // in the local zone
	last time.Time
	day  string // the chosen one
}

func (activityData) title() string { return "Activity" }

// Cell is a day of the calendar.
type Cell struct {
	X, Y, Level int
	Path, Label string
	On          bool // the user has chosen the day
}

// The calendar's measures, in pixels.
const (
	weeks    = 53
	cellSize = 13
)

// cells returns the days of the year that ends with the last message.
func (d activityData) cells() []Cell {
	most := 1
	for _, n := range d.Days {
		most = max(most, n)
	}
	end := d.last
	start := end.AddDate(0, 0, -(weeks-1)*7-int(end.Weekday()))
	var cells []Cell
	for day, i := start, 0; !day.After(end); day, i = day.AddDate(0, 0, 1), i+1 {
		date := day.Format(time.DateOnly)
		n := d.Days[date]
		c := Cell{X: i / 7 * cellSize, Y: i % 7 * cellSize, Label: day.Format("2 January 2006") + ": " + prose.Count(n, "message", "messages")}
		if n > 0 {
			c.Level, c.Path, c.On = 1+3*n/(most+1), "/?day="+date, date == d.day
		}
		cells = append(cells, c)
	}
	return cells
}

// months returns the labels above the calendar.
func (d activityData) months() []Cell {
	start := d.last.AddDate(0, 0, -(weeks-1)*7-int(d.last.Weekday()))
	var months []Cell
	for week := range weeks {
		day := start.AddDate(0, 0, week*7)
		if day.Day() <= 7 {
			months = append(months, Cell{X: week * cellSize, Label: day.Format("Jan")})
		}
	}
	return months
}

// total returns the messages of the year.
func (d activityData) total() int {
	n, first := 0, d.last.AddDate(0, 0, -weeks*7).Format(time.DateOnly)
	for day, count := range d.Days {
		if day > first {
			n += count
		}
	}
	return n
}

func (s *Server) activityPage(r *http.Request) (d activityData, err error) {
	if d.Days, err = s.activity.read(r.Context(), s.Activity); err != nil {
		return d, err
	}
	d.day = r.URL.Query().Get("day")
	d.last, _ = time.Parse(time.DateOnly, time.Now().Format(time.DateOnly)) // its own form
	if days := slices.Sorted(maps.Keys(d.Days)); len(days) > 0 {
		d.last, err = time.Parse(time.DateOnly, days[len(days)-1])
	}
	return d, err
}
