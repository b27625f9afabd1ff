package ui

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// toolsData counts the tools of the matches of a search.
type toolsData struct {
	Tools   []Count `json:"tools"`
	Counted int     `json:"counted"` // matches that were looked at
}

func (toolsData) title() string { return "Tools" }

const (
	// countedTools is how many matches the counts of tools look at: each is read.
	countedTools = 300
	// callReach is how many messages before a result are searched for its call.
	callReach = 64
)

// toolsPage counts the newest matches of a search by tool, before the filter by
// tool. The page of a search loads it after the matches.
func (s *Server) toolsPage(r *http.Request) (d toolsData, err error) {
	d.Tools = []Count{}
	q := searchOf(r)
	if strings.TrimSpace(q.Query) == "" {
		return d, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	search := store.Search{Mode: q.mode(), Pattern: q.Query, Roles: []llms.Role{llms.RoleTool, llms.RoleAssistant}, Everything: q.All, Limit: countedTools, Sort: store.ByRecency}
	if q.Role != "" {
		search.Roles = []llms.Role{llms.Role(q.Role)}
	}
	if search.Since, search.Before, err = recall.Span(localTime(q.Since), localTime(q.Before), time.Now()); err != nil {
		return d, err
	}
	all, err := s.record.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return d, err
	}
	in, narrowed := q.conversations(all)
	if narrowed && len(in) == 0 {
		return d, nil
	}
	if narrowed {
		search.Conversations = in
	}
	found, err := s.record.Search(ctx, search)
	if err != nil {
		return d, err
	}
	tools := map[string]int{}
	for _, h := range found.Hits {
		if h.Message == 0 {
			continue
		}
		d.Counted++
		names, err := s.toolsOf(ctx, h.Message)
		if err != nil {
			return d, err
		}
		for name := range names {
			tools[name]++
		}
	}
	page := r.Clone(ctx)
	page.URL.Path = "/search"
	d.Tools = counts(page, "tool", tools, q.Tool)
	return d, nil
}

// toolsOf returns the tools that a message calls or has results of.
func (s *reader) toolsOf(ctx context.Context, id store.MessageID) (map[string]bool, error) {
	m, err := store.First(s.record.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{id}, NoRaw: true}))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, c := range m.Body.ToolCalls() {
		names[c.Name] = true
	}
	for _, r := range m.Body.ToolResults() {
		name := r.Name
		if name == "" {
			if name, err = s.calledTool(ctx, m, r.CallID); err != nil {
				return nil, err
			}
		}
		names[name] = true
	}
	return names, nil
}

// calledTool returns the tool of a call before a message, or "".
func (s *reader) calledTool(ctx context.Context, m store.Message, call string) (string, error) {
	before := store.MessageQuery{Conversation: m.Conversation, Before: m.Seq, Newest: true, Limit: callReach, NoRaw: true}
	for earlier, err := range s.record.Messages(ctx, before) {
		if err != nil {
			return "", err
		}
		for _, c := range earlier.Body.ToolCalls() {
			if c.ID == call {
				return c.Name, nil
			}
		}
	}
	return "", nil
}

// searchOf returns the search that the address of a page names, without its answer.
func searchOf(r *http.Request) searchData {
	q := r.URL.Query()
	return searchData{
		Query: q.Get("q"), Mode: cmp.Or(q.Get("mode"), "words"), Role: q.Get("role"), Tool: q.Get("tool"), Host: q.Get("host"),
		Project: q.Get("project"), Since: q.Get("since"), Before: q.Get("before"), All: q.Get("all") != "", Matches: []Found{},
	}
}

// localTime writes a time without a zone, which is meant as the pages show times, with
// its zone. Package recall reads all other forms.
func localTime(text string) string {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01"} {
		if t, err := time.ParseInLocation(layout, strings.TrimSpace(text), time.Local); err == nil {
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
