package store

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Searcher finds messages and summaries by what they say. A search is
// complete at every moment: what was appended a moment ago is found.
type Searcher interface {
	// Search returns one page of what matches, without texts.
	Search(ctx context.Context, s Search) (Found, error)
	// Text returns what is searched of a node: for a message everything it
	// says, tool arguments, tool outputs, reasoning and payloads included.
	// Text that does not match the hashes taken when it arrived is returned
	// beside an error that is ErrDamaged; Search checks no hashes.
	Text(ctx context.Context, n Node) ([]byte, error)
}

// Attachments tells which payloads belong to which messages.
type Attachments interface {
	// Attached lists the payloads of a message, in the order in which those
	// that are text follow the message's own words in its [Searcher] text.
	Attached(ctx context.Context, id MessageID) ([]PayloadID, error)
	// Holders lists messages that a payload belongs to, newest first: those of
	// the given conversations (none: of all), and at most limit.
	Holders(ctx context.Context, id PayloadID, in []ConversationID, limit int) ([]MessageID, error)
}

// Mode says how a pattern is read.
type Mode string

// The modes.
const (
	Regex    Mode = "regex"     // RE2, matched against the text
	FullText Mode = "full_text" // words, ranked
)

// Sort is the order of what a search returns.
type Sort string

// The orders.
const (
	ByRecency   Sort = "recency"
	ByRelevance Sort = "relevance"
	ByHybrid    Sort = "hybrid" // relevance, fading with age
)

// Search says what to look for, and where.
type Search struct {
	Mode    Mode
	Pattern string
	// Summaries searches summaries, else messages are searched.
	Summaries bool
	// Files searches only payloads: messages are found for what their
	// payloads hold.
	Files bool
	// Payloads narrows Files down to these.
	Payloads      []PayloadID
	Conversations []ConversationID // none: all of them
	Since         time.Time        // inclusive, zero: unbounded
	Before        time.Time        // exclusive, zero: unbounded
	Roles         []llms.Role
	// Tool finds only messages that call this tool or answer it.
	Tool string
	// Everything also finds what lcm itself said (FlagEcho) and what hosts
	// wrote for themselves: FlagSynthetic, and FlagHidden with the role system
	// unless FlagUnknown says that it may be anything.
	Everything bool
	// Except are messages that are not found: the question itself, say.
	Except []MessageID
	Sort   Sort
	Limit  int
	// After is the cursor of the page before.
	After Cursor
	// CountTo bounds how many matches are counted beyond the page.
	CountTo int
}

// Cursor continues a search after a page: below a number where the order is
// that of recency, else by how many were returned of a ranking that stands as
// it was on the first page, whatever has been said since.
type Cursor struct {
	Below  int64
	Offset int
	// Through is the highest number that was ranked, and Now the time in
	// milliseconds from which [ByHybrid] counted ages.
	Through int64
	Now     int64
}

// Found is one page of what a search found, with an account of how.
type Found struct {
	Hits []Hit
	// Matched counts the matches; AtLeast says that counting stopped there.
	Matched int
	AtLeast bool
	// Next continues after this page; nil says that there is no more.
	Next *Cursor
	// Tier says what answered: "index", or "scan" where the pattern has
	// nothing that an index could look up.
	Tier string
	// Unfinished says that the deadline came before the end.
	Unfinished bool
	// Notes say what was left out, and why.
	Notes []string
	// Words are the terms of a full-text pattern with how many of the
	// Passages searched hold each. A passage is a piece of about a hundred
	// words.
	Words    []Word
	Passages int
}

// Word is a term of a pattern.
type Word struct {
	Text     string
	Passages int
}

// Hit is one match.
type Hit struct {
	Node
	Conversation ConversationID
	Time         time.Time
	Role         llms.Role // of a message
	Score        float64   // comparable within one answer; 0 without ranking
	// Beside says that the node has none of the words itself but stands next
	// to some that do: ranking brings in what surrounds an answer.
	Beside bool
	// Session is equal for hits that were said in one sitting.
	Session int64
	// After continues the search behind this hit, for a reader that takes
	// less than the page.
	After Cursor
}
