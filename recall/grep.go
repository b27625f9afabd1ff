package recall

import (
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// Mode says how a pattern is interpreted.
type Mode string

// The modes.
const (
	Regex    Mode = "regex"     // RE2, matched against the text
	FullText Mode = "full_text" // words, ranked
)

// Sort is the order of the results of a search.
type Sort string

// The orders.
const (
	ByRecency   Sort = "recency"
	ByRelevance Sort = "relevance"
)

// The kinds of thing that Grep looks at.
const (
	InMessages  = "messages"  // payloads belong to their messages
	InSummaries = "summaries" // of compaction
	InBoth      = "both"
)

// Bounds of a grep.
const (
	DefaultLimit = 50
	MaxLimit     = 200
	MaxContext   = 20
)

// GrepRequest asks where something was said. Only Pattern is required.
type GrepRequest struct {
	Pattern string `json:"pattern"`        // a regular expression, or words
	Mode    Mode   `json:"mode,omitempty"` // regex (RE2; the default), or full_text
	// OrWords answers with full text where a regex without operators matches
	// nothing: words that are apart, or in another case. Where no text has a word that
	// the question is about, it shows at most three matches of the other words.
	OrWords bool   `json:"-"`
	Kinds   string `json:"scope,omitempty"` // messages, summaries or both (the default)
	Where
	// SummaryID searches the messages beneath this summary only.
	SummaryID record.SummaryID `json:"summaryId,omitempty"`
	// Since (inclusive) and Before (exclusive) bound the time, ISO. The time of a
	// summary is that of the newest message that it covers, its latestAt, not the
	// time when it was written.
	Since  string `json:"since,omitempty"`
	Before string `json:"before,omitempty"` // messages before this time, written as Since
	// Limit is the total over all kinds, 1 to 200; 0 is 50.
	Limit int `json:"limit,omitempty"`
	// Sort is recency or relevance. The default is recency for the mode regex, else
	// relevance.
	Sort Sort      `json:"sort,omitempty"`
	Role llms.Role `json:"role,omitempty"` // only messages of this role
	Tool string    `json:"tool,omitempty"` // only calls of this tool and their results
	// Context adds this many messages before and after each message, 0 to 20.
	Context int `json:"context,omitempty"`
	// Compact leaves out matches that have no text.
	Compact bool `json:"-"`
	// NoSaid leaves out what the user said about a question.
	NoSaid bool `json:"-"`
	// Fill makes one result of the matches of an exchange, a prompt and what followed it, and
	// adds its reply and its prompt until the page costs about so many tokens. The first match
	// is shown longer than the others, whatever Snippet says.
	Fill int `json:"-"`
	// Snippet is how many characters are shown around a match; 0 is 300.
	Snippet int `json:"-"`
	// Everything also finds the records that searches leave out otherwise: the prompt of
	// the current turn, lcm's own output, and the bookkeeping of hosts (hook
	// results, environment blocks, skill lists).
	Everything bool   `json:"everything,omitempty"`
	Cursor     string `json:"cursor,omitempty"` // NextCursor of the answer before
}

// Match is one thing that was found.
type Match struct {
	ID   record.ID `json:"id"`   // msg_… or sum_…, for Describe
	Type string    `json:"type"` // message or summary
	// Snippet is text around the match exactly as it is stored, whole sentences where
	// they are short enough, else cut between words; a byte that is not UTF-8 is one U+FFFD.
	Snippet string `json:"snippet"`
	// MatchRanges are the matches in the snippet: [start, end) in Unicode
	// code points. They are empty where nothing in it matches by itself; see
	// Beside.
	MatchRanges [][2]int `json:"matchRanges"`
	// Truncated says that the snippet is not all of the text, CutBefore and
	// CutAfter which end of it is missing.
	Truncated      bool                  `json:"truncated,omitempty"`
	CutBefore      bool                  `json:"-"`              // text before the snippet is missing
	CutAfter       bool                  `json:"-"`              // text after the snippet is missing
	ConversationID record.ConversationID `json:"conversationId"` // it belongs to
	// Host is the agent that the conversation was held with, Title the name of the
	// conversation. Project names its project where that is not the scope's.
	Host      string    `json:"host,omitempty"`
	Title     string    `json:"title,omitempty"`   // of the conversation
	Project   string    `json:"project,omitempty"` // of the conversation, where that is not the scope's
	CreatedAt time.Time `json:"createdAt"`         // when a message was said or a summary written
	Role      llms.Role `json:"role,omitempty"`    // who said it
	// Depth, Kind, SummaryID and the times are those of a summary.
	Depth      *int               `json:"depth,omitempty"`
	Kind       record.SummaryKind `json:"kind,omitempty"`      // of a summary
	SummaryID  record.SummaryID   `json:"summaryId,omitempty"` // of a summary
	EarliestAt time.Time          `json:"earliestAt,omitzero"` // of the messages that a summary covers
	LatestAt   time.Time          `json:"latestAt,omitzero"`   // of the messages that a summary covers
	Retired    bool               `json:"retired,omitempty"`   // a rewind took it out of the view
	// CoveredBy is the summary that covers a message; a message without one
	// is in the view as it is.
	CoveredBy record.SummaryID `json:"coveredBy,omitempty"`
	// AlsoIn are summaries that match too and cover the message, which is their
	// best one in this answer.
	AlsoIn []record.SummaryID `json:"alsoIn,omitempty"`
	// FileIDs are the files of a message whose match is in one of them.
	FileIDs []record.PayloadID `json:"fileIds,omitempty"`
	// Beside says that the match has none of the words itself but is next
	// to messages that do: ranking brings in the messages around an answer.
	Beside bool `json:"beside,omitempty"`
	// Earlier says that the match is an answer that an agent gave from the record in an
	// earlier session, and from which message, or a host's own summary of the session.
	Earlier string `json:"earlier,omitempty"`
	// Damaged says that the snippet may differ from the message: the stored
	// record is not the one that arrived.
	Damaged bool     `json:"damaged,omitempty"`
	Score   float64  `json:"score,omitempty"`   // comparable within one type
	Context *Context `json:"context,omitempty"` // the messages around it, where they were asked for
}

// Context is the messages around a match, oldest first: those that were asked
// for, and those that ranking brought in because they are next to it.
type Context struct {
	Before []Neighbour `json:"before"` // messages before the match
	After  []Neighbour `json:"after"`  // messages after the match
}

// Neighbour is a message next to another one.
type Neighbour struct {
	ID        record.MessageID `json:"id"`                  // of the message
	Role      llms.Role        `json:"role"`                // who said it
	CreatedAt time.Time        `json:"createdAt"`           // when it was said
	Snippet   string           `json:"snippet"`             // how it begins
	Truncated bool             `json:"truncated,omitempty"` // Snippet is not the whole text
	Damaged   bool             `json:"damaged,omitempty"`   // Snippet, which says so, may not be what was said
}

// Turn is what the user said, and the last words of the agent that followed.
type Turn struct {
	Prompt Neighbour  `json:"prompt"`          // of the user
	Reply  *Neighbour `json:"reply,omitempty"` // the last words of the agent before the next prompt
}

// Widened says that an answer went past the scope of the question because that
// had little.
type Widened struct {
	From string `json:"from"` // the scope of the question
	Home Scope  `json:"-"`    // the same, as a value
	// InScope and Elsewhere count the matches inside that scope and outside.
	InScope   int  `json:"inScope"`
	Elsewhere int  `json:"elsewhere"`         // matches outside that scope
	AtLeast   bool `json:"atLeast,omitempty"` // there may be more
}

// Elsewhere counts the matches of a wider search.
type Elsewhere struct {
	Hits    int    `json:"hits"`              // matches outside the scope
	AtLeast bool   `json:"atLeast,omitempty"` // there may be more
	How     string `json:"how"`               // to ask for them
}

// GrepAnswer is one page of matches.
type GrepAnswer struct {
	// NotInRecord are words of the question that no text in scope has. The matches have
	// its other words.
	NotInRecord []string `json:"notInRecord,omitempty"`

	// Said is what the user said about a question, the newest first, and later in the work
	// that the first matches are part of. A newer statement may replace what a match says.
	Said []Turn `json:"said,omitempty"`

	Matches []Match `json:"matches"` // of this page
	Pattern string  `json:"pattern"` // that was searched for
	Mode    Mode    `json:"mode"`    // in which it was read
	Sort    Sort    `json:"sort"`    // order of the matches
	Kinds   string  `json:"kinds"`   // that were searched: the request's scope
	Tier    string  `json:"tier"`    // index, or scan where nothing can be looked up
	Scope   Scope   `json:"scope"`   // where it looked
	// Total counts the matches of all pages, as the first page knew them, InSummaries
	// those of them that are summaries.
	Total             int        `json:"total"`
	InSummaries       int        `json:"-"`                           // matches that are summaries
	TotalIsLowerBound bool       `json:"totalIsLowerBound,omitempty"` // there are at least Total
	NextCursor        string     `json:"nextCursor,omitempty"`        // leads to the next page
	Unfinished        bool       `json:"unfinished,omitempty"`        // the deadline came first
	Guessed           bool       `json:"-"`                           // no match has a word of the pattern, only words that may be meant
	Notes             []string   `json:"notes,omitempty"`             // hints for the reader
	Elsewhere         *Elsewhere `json:"elsewhere,omitempty"`         // set where only other conversations match
	Widened           *Widened   `json:"widened,omitempty"`           // set where matches come from outside the default scope
}
