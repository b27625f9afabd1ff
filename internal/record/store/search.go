package store

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/llms"
)

// Searcher searches messages and summaries. A search is always complete: it finds
// messages that were just appended.
type Searcher interface {
	// Search returns one page of matches, without texts.
	Search(ctx context.Context, s Search) (Found, error)
	// Text returns the searched text of a node: for a message all its content, tool
	// arguments, tool outputs, reasoning and payloads included. If the text does
	// not match the hashes taken on arrival it also returns an error that wraps
	// ErrDamaged; Search checks no hashes.
	Text(ctx context.Context, n ID) ([]byte, error)
}

// Attachments maps payloads to messages.
type Attachments interface {
	// Attached lists the payloads of a message, in the order in which those that
	// are text follow the message's own text in [Searcher.Text].
	Attached(ctx context.Context, id MessageID) ([]PayloadID, error)
	// Holders lists the messages of a payload, newest first, in the given
	// conversations (none: all), at most limit.
	Holders(ctx context.Context, id PayloadID, in []ConversationID, limit int) ([]MessageID, error)
}

// Search is a query.
type Search struct {
	Mode    Mode
	Pattern string
	// Summaries searches summaries instead of messages.
	Summaries     bool
	Conversations []ConversationID // none: all of them
	Since         time.Time        // inclusive, zero: unbounded
	Before        time.Time        // exclusive, zero: unbounded
	Roles         []llms.Role
	// Tool finds only calls of this tool and their results.
	Tool string
	// Everything also finds lcm's own output (FlagEcho) and the hosts' own records:
	// FlagSynthetic, and FlagHidden with the role system unless FlagUnknown is set.
	Everything bool
	// Except excludes messages, such as the question itself. Only, if not nil, are all
	// messages that are searched, in order.
	Except, Only []MessageID
	Sort         Sort
	Limit        int
	// After is the cursor of the page before.
	After Cursor
	// CountTo bounds how many matches are counted beyond the page.
	CountTo int
}

// Cursor continues a search after a page: below a number if the order is recency, else
// by how many results of the ranking were returned. The ranking stays that of the first
// page even if messages were added since.
type Cursor struct {
	Below  int64
	Offset int
	// Through is the highest number that was ranked. Now is the time of the
	// question in milliseconds.
	Through int64
	Now     int64
}

// Found is one page of results.
type Found struct {
	Hits []Hit
	// Matched counts the matches; AtLeast says that counting stopped there.
	Matched int
	AtLeast bool
	// Next continues after this page; nil if there is no more.
	Next *Cursor
	// Tier is "index", or "scan" if the pattern has nothing that the index can
	// look up.
	Tier string
	// Unfinished says that the deadline ended the search.
	Unfinished bool
	// Guessed says that no text has a word of the pattern: the matches have words
	// that may be meant, such as the nearest by spelling.
	Guessed bool
	// Notes name everything that was left out, and why.
	Notes []string
	// Words are the terms of a full-text pattern, with the number of Passages that
	// have each. A passage has about a hundred words.
	Words    []search.Term
	Passages int
}

// Hit is one match.
type Hit struct {
	ID
	Conversation ConversationID
	Time         time.Time
	Role         llms.Role // of a message
	Score        float64   // comparable within one answer; 0 without ranking
	// Beside says that the node has none of the words itself but is next to one
	// that does: ranking adds the messages around an answer.
	Beside bool
	// NextTo are the matching messages that a message with Beside is next to.
	NextTo []MessageID
	// Earlier labels a message that was answered from the record.
	Earlier string
	// Session is equal for hits of one sitting.
	Session int64
	// After continues the search after this hit, for a reader that takes less
	// than the page.
	After Cursor
}
