package ui

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Found is a match as a page shows it.
type Found struct {
	recall.Match
	Path string `json:"path"`
	HTML markup `json:"-"` // the snippet with its matches marked, see mark
}

// searchData is the data of the search page.
type searchData struct {
	Query   string `json:"query"`
	Mode    string `json:"mode"` // words or regex
	Role    string `json:"role,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Host    string `json:"host,omitempty"`
	Project string `json:"project,omitempty"`
	Since   string `json:"since,omitempty"`
	Before  string `json:"before,omitempty"`
	All     bool   `json:"all,omitempty"` // with the hosts' own records
	// Session is the conversation that is searched, 0 for all, and In its title.
	Session store.ConversationID `json:"session,omitempty"`
	In      string               `json:"-"`
	// Answer has the passages that answer a question, as `+"`lcm ask --evidence`"+` prints them.
	Answer  string  `json:"answer,omitempty"`
	Matches []Found `json:"matches"`
	Total   int     `json:"total"`
	// InMessages and InSummaries are the parts of Total.
	InMessages  int  `json:"inMessages"`
	InSummaries int  `json:"inSummaries"`
	AtLeast     bool `json:"atLeast,omitempty"`
	// LeftOut counts the matches among the hosts' own records, which the search leaves out.
	LeftOut int    `json:"leftOut,omitempty"`
	Whole   string `json:"-"` // the path of the search with them
	// Hosts and Projects are those that a search can be narrowed to.
	Hosts    []string `json:"-"`
	Projects []string `json:"-"`
	AnyWord  bool     `json:"-"` // one of several words is enough for a match
	Notes    []string `json:"notes,omitempty"`
	// Absent names the words of the question that nothing has. Said is what the user said about it.
	Absent  string        `json:"absent,omitempty"`
	Said    []recall.Turn `json:"said,omitempty"`
	Cursor  string        `json:"cursor,omitempty"`
	Next    string        `json:"-"` // the path of the next page
	Later   string        `json:"-"` // the path of the matches, if they are loaded later
	Refused string        `json:"refused,omitempty"`
}

func (d searchData) title() string {
	if d.Query == "" {
		return "Search"
	}
	return "Search: " + prose.Clip(d.Query, 60)
}

const (
	pageMatches = 30
	searchTime  = 20 * time.Second
)

// searchPage finds matches.
func (s *Server) searchPage(r *http.Request) (d searchData, err error) {
	d = searchOf(r)
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return d, err
	}
	hosts, projects := map[string]bool{}, map[string]bool{}
	for _, c := range all {
		hosts[c.Agent], projects[c.Project.Name()] = true, true
		if c.ID == d.Session {
			if d.In, err = s.titleOf(ctx, c); err != nil {
				return d, err
			}
		}
	}
	delete(hosts, "")
	delete(projects, "")
	d.Hosts, d.Projects = slices.Sorted(maps.Keys(hosts)), slices.Sorted(maps.Keys(projects))
	if strings.TrimSpace(d.Query) == "" {
		return d, nil
	}
	if later(r) {
		d.Later = r.URL.RequestURI()
		return d, nil
	}
	req := recall.GrepRequest{
		Pattern: d.Query, Mode: d.mode(), Role: llms.Role(d.Role), Tool: d.Tool, Since: localTime(d.Since, zoneOf(r)), Before: localTime(d.Before, zoneOf(r)), Everything: d.All,
		Compact: true, Limit: pageMatches, Cursor: r.URL.Query().Get("cursor"), Snippet: 300,
	}
	in, narrowed := d.conversations(all)
	if req.AllConversations = !narrowed; narrowed && len(in) > 0 {
		req.CurrentOnly, req.Current, req.Also = true, in[0], in[1:]
	}
	if !narrowed || len(in) > 0 {
		if d.Answer, err = s.answerQuestion(ctx, d, narrowed, req.Cursor); err != nil {
			return d, err
		}
		req.NoSaid = d.Answer != "" // which says what the user said about it
		a, err := s.Engine.Grep(ctx, req)
		if status(err) == http.StatusBadRequest && err != nil {
			d.Refused = searchWords.Replace(refusal(err)) // the user is still typing
			return d, nil
		}
		if err != nil {
			return d, err
		}
		d.Total, d.InMessages, d.InSummaries, d.AtLeast = a.Total, a.Total-a.InSummaries, a.InSummaries, a.TotalIsLowerBound
		d.Notes, d.Cursor, d.Said, d.AnyWord = advice(a.Notes), a.NextCursor, a.Said, d.Mode == "words" && len(strings.Fields(d.Query)) > 1
		if len(a.NotInRecord) > 0 {
			d.Absent = prose.NotInRecord(a.NotInRecord)
		}
		if !d.All && !d.AtLeast && req.Cursor == "" && d.Cursor == "" && d.Answer == "" { // else there are matches enough
			req.Everything, req.Limit, req.NoSaid = true, 1, true
			whole, err := s.Engine.Grep(ctx, req)
			if err != nil {
				return d, err
			}
			d.LeftOut, d.Whole = max(0, whole.Total-a.Total), "/search"+with(r, "all", "1")[len(r.URL.Path):]
		}
		for _, m := range a.Matches {
			if m.Beside {
				continue // it has none of the words, and its match is on another page
			}
			d.Matches = append(d.Matches, Found{m, pathOf(m.ID.String()), mark(m)})
		}
	}
	if d.Cursor != "" {
		d.Next = "/search" + with(r)[len(r.URL.Path):] + "&cursor=" + url.QueryEscape(d.Cursor)
	}
	return d, nil
}

// questionWords is how many words make a question, and answerTokens how long its answer is.
const (
	questionWords = 3
	answerTokens  = 450
)

// answerQuestion returns the passages that answer a question, without a model, or "".
func (s *Server) answerQuestion(ctx context.Context, d searchData, narrowed bool, cursor string) (string, error) {
	if d.Mode != "words" || len(strings.Fields(d.Query)) < questionWords || narrowed && d.Session == 0 || d.Role+d.Tool+d.Since+d.Before+cursor != "" {
		return "", nil
	}
	where := recall.Where{ConversationID: d.Session, AllConversations: d.Session == 0}
	a, err := s.Engine.Ask(ctx, recall.Question{Prompt: d.Query, Where: where, Output: recall.OutputEvidence, MaxTokens: answerTokens})
	if errors.Is(err, recall.ErrRefused) || err == nil && a.Method != recall.MethodEvidence {
		return "", nil // the matches are what there is
	}
	return a.Answer, err
}

// passageHead begins the line of an answer that names a session.
var passageHead = lazyregexp.New(`(?m)^\[([0-9-]{10}), conversation ([0-9]{1,18})\b`)

// passages writes an answer with links to its messages and sessions.
func passages(answer string) markup {
	return markup(passageHead().ReplaceAllString(string(linkIDs(answer)), `[$1, <a href="/session/$2">session $2</a>`))
}

// conversations returns those that the filters select, and whether there are
// filters.
func (d searchData) conversations(all []store.Conversation) (ids []store.ConversationID, narrowed bool) {
	for _, c := range all {
		if (d.Session == 0 || c.ID == d.Session) && (d.Host == "" || c.Agent == d.Host) && (d.Project == "" || c.Project.Name() == d.Project) {
			ids = append(ids, c.ID)
		}
	}
	return ids, d.Session != 0 || d.Host != "" || d.Project != ""
}

// searchOf returns the search that the address of a page names, without its answer.
func searchOf(r *http.Request) searchData {
	q := r.URL.Query()
	in, _ := strconv.ParseInt(q.Get("session"), 10, 64) // another text is no session
	return searchData{
		Session: store.ConversationID(in),
		Query:   q.Get("q"), Mode: cmp.Or(q.Get("mode"), "words"), Role: q.Get("role"), Tool: q.Get("tool"), Host: q.Get("host"),
		Project: q.Get("project"), Since: q.Get("since"), Before: q.Get("before"), All: q.Get("all") != "", Matches: []Found{},
	}
}

// localTime writes a time without a zone, which is meant as the pages show times, with
// its zone. Package recall reads all other forms.
func localTime(text string, zone *time.Location) string {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01"} {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(text), zone); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return text
}

func (d searchData) mode() store.Mode {
	if d.Mode == "regex" {
		return store.Regex
	}
	return store.FullText
}

// searchWords translates the advice of package recall into the words of the page.
var searchWords = strings.NewReplacer(
	`mode "full_text"`, `"words"`, "full_text", `"words"`, `mode "regex"`, `"regular expression"`,
	"everything: true finds it", `"host records too" finds it`, "conversationId, since", "a project, a time",
)

// advice returns the notes of an answer that help here: the page has a link of its
// own to more matches.
func advice(notes []string) (out []string) {
	for _, n := range notes {
		if !strings.Contains(n, "nextCursor") {
			out = append(out, searchWords.Replace(n))
		}
	}
	return out
}
