// Package summary turns a run of messages, or of older summaries, into one
// shorter text.
//
// [Summariser] is the port. [Extractive] is the implementation that is always
// there: it needs no model, no network and no clock, the same input gives the
// same bytes, and every sentence it emits occurs word for word in a source.
// Model-backed summarisers implement the same port; package compact decides
// which to ask, in which order, and whether to accept their texts.
//
// [Identifiers] finds paths, versions, hashes, dates, figures and names in code,
// which a reader needs exactly; a summary that drops the sentence around one still
// lists it. [Parse] takes a summary apart again,
// [EnsureFooter] puts a footer under a model's text that lacks one.
//
// A summariser writes prose only. Ids, counts, time ranges and everything
// else that must be true are added by the engine, which never trusts a
// summariser with them.
package summary

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Footer begins the last line of every summary, which names the omitted topics.
const Footer = "Expand for details about: "

// Kind says whether a summary is made from messages or summaries.
type Kind string

// The kinds of summary.
const (
	Leaf      Kind = "leaf"      // made from messages
	Condensed Kind = "condensed" // made from summaries, and messages stranded between them
)

// Source is one thing to be summarised: a message, or an older summary.
type Source struct {
	ID   string // msg_… or sum_…
	Kind Kind   // empty for a message
	Role llms.Role
	Time time.Time
	Seq  int64 // the message's place in its conversation, or of the first it covers
	// Text is the rendered source: spoken text, tool calls and results,
	// references to payloads. For a summary it is its stored body.
	Text string
	// Tool is true where Text is mostly tool traffic.
	Tool   bool
	Tokens int
}

// Level is how hard a summariser must try to be short.
type Level string

// The levels of the escalation, in the order they are tried.
const (
	Normal     Level = "normal"
	Aggressive Level = "aggressive"
	Fallback   Level = "extractive" // the deterministic last resort
)

// Request asks for one summary.
type Request struct {
	Kind  Kind
	Depth int // 0 for a leaf
	Level Level
	// Target is the length asked for, in tokens of Counter.
	Target  int
	Sources []Source
	// Previous is the summary that comes before these sources, for
	// continuity. It is context, not material.
	Previous string
	Counter  llms.Counter
}

// Result is a summariser's text and its cost.
type Result struct {
	// Text is the body. Its last line begins with Footer.
	Text      string
	Method    string // "extractive", "model"
	Model     string // empty without one
	TokensIn  int    // spent on the call, as the provider reported it
	TokensOut int
}

// Summariser writes summaries. It must be safe for concurrent use: conversations
// are compacted side by side, and a call that was given up may still be under
// way when the next one is made.
type Summariser interface {
	Summarise(ctx context.Context, r Request) (Result, error)
}
