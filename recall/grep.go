package recall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/summary"
)

// The kinds of thing that Grep looks at.
const (
	InMessages  = "messages"  // payloads belong to their messages
	InSummaries = "summaries" // what compaction wrote
	InBoth      = "both"
	InFiles     = "files" // payloads alone
)

// Bounds of a grep.
const (
	DefaultLimit = 50
	MaxLimit     = 200
	MaxContext   = 20
)

// GrepRequest asks where something was said. Only Pattern is required.
type GrepRequest struct {
	Pattern string     `json:"pattern"`
	Mode    store.Mode `json:"mode,omitempty"`  // regex (RE2), or full_text
	Scope   string     `json:"scope,omitempty"` // messages, summaries, both (the default) or files
	// FileIDs narrows scope files down to these.
	FileIDs []string `json:"fileIds,omitempty"`
	Where
	// Since (inclusive) and Before (exclusive) bound the time, ISO. A summary
	// stands at the newest message that it covers, its latestAt, not at the
	// time when it was written.
	Since  string `json:"since,omitempty"`
	Before string `json:"before,omitempty"`
	// Limit is the total over all kinds, 1 to 200; 0 is 50.
	Limit int `json:"limit,omitempty"`
	// Sort is recency, relevance or hybrid; the default is relevance for
	// full_text and recency for regex.
	Sort store.Sort `json:"sort,omitempty"`
	Role llms.Role  `json:"role,omitempty"`
	Tool string     `json:"tool,omitempty"` // only calls of this tool and their results
	// Context adds this many messages before and after each message, 0 to 20.
	Context int `json:"context,omitempty"`
	// Echo finds what lcm itself said as well.
	Echo   bool   `json:"echo,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// Match is one thing that was found.
type Match struct {
	ID   string `json:"id"`   // msg_…, sum_… or file_…: what Describe takes
	Type string `json:"type"` // message, summary or file
	// Snippet is text around the match exactly as it is stored, cut between
	// characters; a byte that is not UTF-8 is one U+FFFD.
	Snippet string `json:"snippet"`
	// MatchRanges are what matched in the snippet: [start, end) in Unicode
	// code points. They are empty where nothing in it matches by itself; see
	// Beside.
	MatchRanges [][2]int `json:"matchRanges"`
	// Truncated says that the snippet is not all of the text.
	Truncated      bool                 `json:"truncated,omitempty"`
	ConversationID store.ConversationID `json:"conversationId"`
	CreatedAt      time.Time            `json:"createdAt"`
	Role           llms.Role            `json:"role,omitempty"`
	// Depth, Kind, SummaryID and the times are those of a summary.
	Depth      *int         `json:"depth,omitempty"`
	Kind       summary.Kind `json:"kind,omitempty"`
	SummaryID  string       `json:"summaryId,omitempty"`
	EarliestAt time.Time    `json:"earliestAt,omitzero"`
	LatestAt   time.Time    `json:"latestAt,omitzero"`
	Retired    bool         `json:"retired,omitempty"` // a rewind took it out of the view
	// CoveredBy is the summary that covers a message; a message without one
	// is in the view as it is.
	CoveredBy string `json:"coveredBy,omitempty"`
	// MessageID is the message that a file belongs to.
	MessageID string `json:"messageId,omitempty"`
	// FileIDs are the payloads that hold the match.
	FileIDs []string `json:"fileIds,omitempty"`
	// Beside says that the match has none of the words itself but stands next
	// to messages that do: ranking brings in what surrounds an answer.
	Beside bool `json:"beside,omitempty"`
	// Damaged says that the snippet may not be what was said: what is stored is
	// not what arrived.
	Damaged bool     `json:"damaged,omitempty"`
	Score   float64  `json:"score,omitempty"` // comparable within one type
	Context *Context `json:"context,omitempty"`
}

// Context is what was said around a message, oldest first.
type Context struct {
	Before []Neighbour `json:"before"`
	After  []Neighbour `json:"after"`
}

// Neighbour is a message next to another one.
type Neighbour struct {
	ID        string    `json:"id"`
	Role      llms.Role `json:"role"`
	CreatedAt time.Time `json:"createdAt"`
	Snippet   string    `json:"snippet"` // how it begins
	Truncated bool      `json:"truncated,omitempty"`
}

// Elsewhere says what a wider search would find.
type Elsewhere struct {
	Hits    int    `json:"hits"`
	AtLeast bool   `json:"atLeast,omitempty"`
	How     string `json:"how"`
}

// GrepAnswer is one page of what was found, with an account of how.
type GrepAnswer struct {
	Matches []Match    `json:"matches"`
	Pattern string     `json:"pattern"`
	Mode    store.Mode `json:"mode"`
	Sort    store.Sort `json:"sort"`
	Kinds   string     `json:"kinds"` // what was looked at: the request's scope
	Tier    string     `json:"tier"`  // index, or scan where nothing can be looked up
	Scope   Scope      `json:"scope"`
	// Total counts the matches of all pages, as the first page knew them.
	Total             int        `json:"total"`
	TotalIsLowerBound bool       `json:"totalIsLowerBound,omitempty"`
	NextCursor        string     `json:"nextCursor,omitempty"`
	Unfinished        bool       `json:"unfinished,omitempty"` // the deadline came first
	Notes             []string   `json:"notes,omitempty"`
	Elsewhere         *Elsewhere `json:"elsewhere,omitempty"`
}

// Grep finds what matches a pattern, or what a question asks about.
//
// Messages and summaries are searched apart. By recency the two are merged by
// time, a summary standing at the newest message it covers. By relevance their
// scores do not compare, so that two messages are followed by one summary,
// messages first: what was said outweighs what was made of it.
func (s *Service) Grep(ctx context.Context, r GrepRequest) (GrepAnswer, error) {
	a, err := s.grep(ctx, r)
	// A store that was cut off may have taken what it did not read for absent.
	if errors.Is(err, context.DeadlineExceeded) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = refuse("narrow it with conversationId or since, use rarer words, or allow more time", "the search did not finish: %w", context.DeadlineExceeded)
	}
	return a, err
}

func (s *Service) grep(ctx context.Context, r GrepRequest) (GrepAnswer, error) {
	q, err := s.check(ctx, r)
	if err != nil {
		return GrepAnswer{}, err
	}
	places, err := unseal[places](r.Cursor, q.digest)
	if err != nil {
		return GrepAnswer{}, err
	}
	lanes, err := s.search(ctx, q, places)
	if err != nil {
		return GrepAnswer{}, err
	}
	picked := merge(lanes, q.search.Sort, q.limit)
	a := GrepAnswer{
		Pattern: r.Pattern, Mode: q.search.Mode, Sort: q.search.Sort, Kinds: q.kinds, Scope: q.scope, Notes: q.notes,
		Matches: []Match{}, NextCursor: next(lanes, q.digest),
	}
	a.account(lanes)
	if a.Matches, err = s.matches(ctx, q, picked); err != nil {
		return GrepAnswer{}, err
	}
	if slices.ContainsFunc(a.Matches, func(m Match) bool { return m.Damaged }) {
		a.note("a match that is called DAMAGED does not match the SHA-256 taken when it arrived: it may not be what was said")
	}
	if n := len(picked) - len(a.Matches); n > 0 {
		a.note("left out: " + plural(n, "message", "messages") + " with the words beside a file, not in it")
	}
	if a.NextCursor != "" {
		a.note("there is more: ask again with cursor set to nextCursor")
	}
	if a.Total == 0 && !a.Unfinished {
		s.empty(ctx, q, &a)
	}
	return a, nil
}

// account adds up what the lanes say of themselves.
func (a *GrepAnswer) account(lanes []*lane) {
	a.Tier = "index"
	for _, l := range lanes {
		a.Total += l.place.Total
		a.TotalIsLowerBound = a.TotalIsLowerBound || l.place.AtLeast
		a.Unfinished = a.Unfinished || l.found.Unfinished
		if l.found.Tier == "scan" {
			a.Tier = "scan"
		}
		for _, n := range l.found.Notes {
			a.note(n)
		}
	}
	if a.Unfinished {
		a.TotalIsLowerBound = true
		a.note("the search was not finished: narrow it with conversationId, since or a pattern with a literal word in it, or allow more time")
	}
}

func (a *GrepAnswer) note(text string) {
	if text != "" && !slices.Contains(a.Notes, text) {
		a.Notes = append(a.Notes, text)
	}
}

// empty says where else to look when nothing was found. It is help, not the
// answer: a wider search that fails is left out.
func (s *Service) empty(ctx context.Context, q *query, a *GrepAnswer) {
	if q.search.Mode == store.Regex && strings.ContainsAny(strings.TrimSpace(q.search.Pattern), " ?") {
		a.note(`a regex is matched exactly, case and all: mode "full_text" finds the words of a question, and (?i) ignores case`)
	}
	if q.scope.Kind == ScopeAll {
		return
	}
	wide := *q
	wide.search.Conversations, wide.search.Limit = nil, 1
	lanes, err := s.search(ctx, &wide, places{})
	if err != nil {
		return
	}
	e := &Elsewhere{How: "ask again with allConversations: true"}
	for _, l := range lanes {
		e.Hits += l.place.Total
		e.AtLeast = e.AtLeast || l.place.AtLeast
	}
	if e.Hits > 0 {
		a.Elsewhere = e
	}
}
