package recall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// The kinds of thing that Grep looks at.
const (
	InMessages  = "messages"  // payloads belong to their messages
	InSummaries = "summaries" // of compaction
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
	Mode    store.Mode `json:"mode,omitempty"` // regex (RE2), or full_text
	// OrWords answers with full text where a regex without operators matches
	// nothing: words that are apart, or in another case.
	OrWords bool   `json:"-"`
	Kinds   string `json:"scope,omitempty"` // messages, summaries, both (the default) or files
	// FileIDs narrows kinds files down to these.
	FileIDs []string `json:"fileIds,omitempty"`
	Where
	// Since (inclusive) and Before (exclusive) bound the time, ISO. The time of a
	// summary is that of the newest message that it covers, its latestAt, not the
	// time when it was written.
	Since  string `json:"since,omitempty"`
	Before string `json:"before,omitempty"`
	// Limit is the total over all kinds, 1 to 200; 0 is 50. Messages that ranking
	// brings in beside matches come along and do not count.
	Limit int `json:"limit,omitempty"`
	// Sort is recency, relevance or hybrid; the default is relevance for
	// full_text and recency for regex.
	Sort store.Sort `json:"sort,omitempty"`
	Role llms.Role  `json:"role,omitempty"`
	Tool string     `json:"tool,omitempty"` // only calls of this tool and their results
	// Context adds this many messages before and after each message, 0 to 20.
	Context int `json:"context,omitempty"`
	// Compact leaves out matches that have no text, and shows a message that
	// ranking brought in with the match that it is next to.
	Compact bool `json:"-"`
	// Fill adds the messages around the matches, nearest first, until the page
	// costs about so many tokens.
	Fill int `json:"-"`
	// Snippet is how many characters are shown around a match; 0 is 240.
	Snippet int `json:"-"`
	// Everything also finds the records that searches leave out otherwise: the prompt of
	// the current turn, lcm's own output, and the bookkeeping of hosts (hook
	// results, environment blocks, skill lists).
	Everything bool   `json:"everything,omitempty"`
	Cursor     string `json:"cursor,omitempty"`
}

// Match is one thing that was found.
type Match struct {
	ID   string `json:"id"`   // msg_…, sum_… or file_…, for Describe
	Type string `json:"type"` // message, summary or file
	// Snippet is text around the match exactly as it is stored, cut between
	// words; a byte that is not UTF-8 is one U+FFFD.
	Snippet string `json:"snippet"`
	// MatchRanges are the matches in the snippet: [start, end) in Unicode
	// code points. They are empty where nothing in it matches by itself; see
	// Beside.
	MatchRanges [][2]int `json:"matchRanges"`
	// Truncated says that the snippet is not all of the text, CutBefore and
	// CutAfter which end of it is missing.
	Truncated      bool                 `json:"truncated,omitempty"`
	CutBefore      bool                 `json:"-"`
	CutAfter       bool                 `json:"-"`
	ConversationID store.ConversationID `json:"conversationId"`
	// Host is the agent that the conversation was held with, Title the name of the
	// conversation. Project names its project where that is not the scope's.
	Host      string    `json:"host,omitempty"`
	Title     string    `json:"title,omitempty"`
	Project   string    `json:"project,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Role      llms.Role `json:"role,omitempty"`
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
	// AlsoIn are summaries that match too and cover the message, which is their
	// best one in this answer.
	AlsoIn []string `json:"alsoIn,omitempty"`
	// MessageID is the message that a file belongs to.
	MessageID string `json:"messageId,omitempty"`
	// FileIDs are the payloads that hold the match.
	FileIDs []string `json:"fileIds,omitempty"`
	// Beside says that the match has none of the words itself but is next
	// to messages that do: ranking brings in the messages around an answer.
	Beside bool `json:"beside,omitempty"`
	// Instruction says that the match has none of the words but is a standing
	// instruction of the user, which the work that is asked for may have to follow.
	Instruction bool `json:"instruction,omitempty"`
	// Meaning says that the match was found by the vector of its text and not by
	// words.
	Meaning bool `json:"meaning,omitempty"`
	// Damaged says that the snippet may differ from the message: the stored
	// record is not the one that arrived.
	Damaged bool     `json:"damaged,omitempty"`
	Score   float64  `json:"score,omitempty"` // comparable within one type
	Context *Context `json:"context,omitempty"`
}

// Context is the messages around a match, oldest first: those that were asked
// for, and those that ranking brought in because they are next to it.
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

// Widened says that an answer went past the scope of the question because that
// had little.
type Widened struct {
	From string `json:"from"` // the scope of the question
	// InScope and Elsewhere count the matches inside that scope and outside.
	InScope   int  `json:"inScope"`
	Elsewhere int  `json:"elsewhere"`
	AtLeast   bool `json:"atLeast,omitempty"`
}

// Elsewhere counts the matches of a wider search.
type Elsewhere struct {
	Hits    int    `json:"hits"`
	AtLeast bool   `json:"atLeast,omitempty"`
	How     string `json:"how"`
}

// GrepAnswer is one page of matches.
type GrepAnswer struct {
	Matches []Match    `json:"matches"`
	Pattern string     `json:"pattern"`
	Mode    store.Mode `json:"mode"`
	Sort    store.Sort `json:"sort"`
	Kinds   string     `json:"kinds"` // that were searched: the request's scope
	Tier    string     `json:"tier"`  // index, or scan where nothing can be looked up
	Scope   Scope      `json:"scope"`
	// Total counts the matches of all pages, as the first page knew them, InSummaries
	// those of them that are summaries.
	Total             int        `json:"total"`
	InSummaries       int        `json:"-"`
	TotalIsLowerBound bool       `json:"totalIsLowerBound,omitempty"`
	NextCursor        string     `json:"nextCursor,omitempty"`
	Unfinished        bool       `json:"unfinished,omitempty"` // the deadline came first
	Guessed           bool       `json:"-"`                    // no match has a word of the pattern, only words that may be meant
	Notes             []string   `json:"notes,omitempty"`
	Elsewhere         *Elsewhere `json:"elsewhere,omitempty"`
	Widened           *Widened   `json:"widened,omitempty"`
}

// Grep finds the messages and summaries that match a pattern or a question.
//
// Messages and summaries are searched apart. By recency the two are merged by
// time; that of a summary is the time of the newest message it covers. By relevance their
// scores do not compare, so that two messages are followed by at most one summary,
// and only by one that matches about as well as the next message. A summary of
// which a message was found takes no place: it is named with that message (AlsoIn).
func (s *Service) Grep(ctx context.Context, r GrepRequest) (GrepAnswer, error) {
	ctx, span := tracing.Start(ctx, "recall.grep")
	a, err := s.grep(ctx, r)
	span.Int("matches", len(a.Matches))
	span.Int("total", a.Total)
	span.End(err)
	// When the deadline passes, the store may report unread records as not found.
	if errors.Is(err, context.DeadlineExceeded) || err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = refuse("narrow it with conversationId or since, use rarer words, or allow more time", "the search did not finish: %w", context.DeadlineExceeded)
	}
	return a, err
}

func (s *Service) grep(ctx context.Context, r GrepRequest) (GrepAnswer, error) {
	q, err := s.check(ctx, r)
	if err != nil && r.OrWords && r.Mode != store.FullText && isPlain(r.Pattern) && strings.TrimSpace(r.Pattern) != "" {
		// Words that are no valid expression, like "C++ build".
		r.Mode = store.FullText
		q, err = s.check(ctx, r)
	}
	if err != nil {
		return GrepAnswer{}, err
	}
	at, err := unseal[places](r.Cursor, q.digest)
	if err != nil {
		return GrepAnswer{}, err
	}
	if at.Words && q.search.Mode == store.Regex {
		if q, err = q.asWords(r); err != nil {
			return GrepAnswer{}, err
		}
	}
	a, err := s.page(ctx, q, at)
	if err != nil || at.Begun {
		return a, err
	}
	readings := []reading{{q, a}}
	if r.OrWords && a.Total == 0 && q.re != nil && isPlain(r.Pattern) {
		if readings, err = s.alsoAsWords(ctx, r, readings[0]); err != nil {
			return a, err
		}
		a = readings[len(readings)-1].answer
	}
	if r.OrWords && q.re != nil && a.Total > 0 && a.Total < littleMatches && isPlain(r.Pattern) && !strings.HasPrefix(r.Pattern, ignoreCase) {
		s.otherCase(ctx, q, &a)
	}
	if r.Widens() && q.scope.Kind != ScopeAll && !a.Unfinished {
		for _, as := range readings {
			if a, err = s.widen(ctx, as.query, as.answer); err != nil || len(a.Matches) > 0 {
				break
			}
		}
		return a, err
	}
	if a.Total == 0 && !a.Unfinished {
		s.empty(ctx, q, &a)
	}
	return a, nil
}

// reading is a way to read a pattern, with its answer in the scope of the question.
type reading struct {
	query  *query
	answer GrepAnswer
}

// alsoAsWords adds the reading of a pattern as words to its exact one, which
// matched nothing. Words of the scope itself replace the exact reading: other
// conversations may have the pattern exactly, but the scope comes first.
func (s *Service) alsoAsWords(ctx context.Context, r GrepRequest, exact reading) ([]reading, error) {
	q, err := exact.query.asWords(r)
	if err != nil {
		return []reading{exact}, nil // the pattern has no words
	}
	words, err := s.page(ctx, q, places{})
	if err != nil {
		return nil, err
	}
	exact.query.readAsWords = true
	if words.Total == 0 {
		for _, n := range words.Notes { // an embedding model that did not answer, other words that were tried
			exact.answer.note(n)
		}
		return []reading{exact, {q, exact.answer}}, nil
	}
	words.note(wordsNote)
	if words.Guessed {
		return []reading{exact, {q, words}}, nil
	}
	return []reading{{q, words}}, nil
}

// wordsNote says that a pattern was read as words.
const wordsNote = "no text has the pattern exactly as it stands: full text answered instead"

// page searches and shows one page.
func (s *Service) page(ctx context.Context, q *query, at places) (GrepAnswer, error) {
	lanes, err := s.search(ctx, q, at)
	if err != nil {
		return GrepAnswer{}, err
	}
	beneath, err := s.foundBeneath(ctx, q, lanes, at)
	if err != nil {
		return GrepAnswer{}, err
	}
	picked := merge(lanes, q, q.limit, beneath)
	q.preferNear(picked)
	at.Words = q.words != nil && q.expression
	a := GrepAnswer{
		Pattern: q.search.Pattern, Mode: q.search.Mode, Sort: q.search.Sort, Kinds: q.kinds, Scope: q.scope, Notes: slices.Clone(q.notes),
		Matches: []Match{}, NextCursor: next(lanes, q.digest, at),
	}
	a.account(lanes)
	if a.Matches, err = s.matches(ctx, q.showing(lanes), picked); err != nil {
		return GrepAnswer{}, err
	}
	a.nameSummaries(lanes, beneath)
	if q.search.Sort == store.ByRecency {
		// The store goes by when messages were stored; messages imported later
		// may be older.
		slices.SortStableFunc(a.Matches, func(x, y Match) int { return y.When().Compare(x.When()) })
	}
	if slices.ContainsFunc(a.Matches, func(m Match) bool { return m.Damaged }) {
		a.note("a match that is called DAMAGED does not match the SHA-256 taken when it arrived: its text may have changed")
	}
	if n := len(picked) - len(a.Matches); n > 0 && q.kinds == InFiles {
		a.note("left out: " + prose.Plural(n, "message", "messages") + " with the words beside a file, not in it")
	}
	if a.NextCursor != "" && !q.compact { // a compact answer has no room to explain its cursor
		a.note("there is more: ask again with cursor set to nextCursor")
	}
	return a, nil
}

// account adds up the counts and notes of the lanes.
func (a *GrepAnswer) account(lanes []*lane) {
	a.Tier, a.Guessed = "index", true
	for _, l := range lanes {
		a.Total += l.place.Total
		a.Guessed = a.Guessed && (l.found.Guessed || l.place.Total == 0)
		if l.summaries {
			a.InSummaries += l.place.Total
		}
		a.TotalIsLowerBound = a.TotalIsLowerBound || l.place.AtLeast
		a.Unfinished = a.Unfinished || l.found.Unfinished
		if l.found.Tier == "scan" {
			a.Tier = "scan"
		}
		for _, n := range l.found.Notes {
			a.note(n)
		}
	}
	a.Guessed = a.Guessed && a.Total > 0
	if a.Unfinished {
		a.TotalIsLowerBound = true
		a.note("the search was not finished: narrow it with conversationId, since or a pattern with a literal word in it, or allow more time")
	}
}

// nameSummaries names the summaries that match with the best of their messages.
func (a *GrepAnswer) nameSummaries(lanes []*lane, beneath map[store.SummaryID]store.MessageID) {
	if len(beneath) == 0 {
		return
	}
	for _, h := range lanes[1].found.Hits {
		best, ok := beneath[h.Summary]
		at := slices.IndexFunc(a.Matches, func(m Match) bool { return m.ID == store.Node{Message: best}.String() })
		if ok && at >= 0 && !h.Beside {
			a.Matches[at].AlsoIn = append(a.Matches[at].AlsoIn, string(h.Summary))
		}
	}
}

func (a *GrepAnswer) note(text string) {
	if text != "" && !slices.Contains(a.Notes, text) {
		a.Notes = append(a.Notes, text)
	}
}
