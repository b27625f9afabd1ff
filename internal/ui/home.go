package ui

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

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
	d.Filtered = project != "" || host != ""
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
		name := c.Project.Name()
		projects[name]++
		hosts[c.Agent]++
		if (project == "" || name == project) && (host == "" || c.Agent == host) {
			shown = append(shown, c)
		}
	}
	d.Projects, d.Hosts = counts(r, "project", projects, project), counts(r, "host", hosts, host)
	d.Left = max(0, len(shown)-int(limit))
	d.More = with(r, "limit", fmt.Sprint(limit+200))
	d.Sessions = []Session{}
	zone, last := zoneOf(r), ""
	for _, c := range shown[:len(shown)-d.Left] {
		v, err := s.session(ctx, c)
		if err != nil {
			return d, err
		}
		if day := dayOf(v.Updated.In(zone), time.Now().In(zone)); day != last {
			v.Day, last = day, day
		}
		d.Sessions = append(d.Sessions, v)
	}
	return d, nil
}

// dayOf names a day as seen from now.
func dayOf(t, now time.Time) string {
	switch t.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return "Today"
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "Yesterday"
	}
	return t.Format("Monday, 2 January 2006")
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
			for other := range of {
				if other != name && base(other) == c.Label { // then the directory above tells them apart
					c.Label = base(strings.TrimSuffix(name, "/"+c.Label)) + "/" + c.Label
					break
				}
			}
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
