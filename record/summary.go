package record

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Summary covers messages, or other summaries.
type Summary struct {
	ID           SummaryID      `json:"id"`             // its id
	Conversation ConversationID `json:"-"`              // it belongs to
	Kind         SummaryKind    `json:"kind"`           // made from messages, or from summaries
	Depth        int            `json:"depth"`          // 0 for a leaf
	Pos          int64          `json:"-"`              // its position in the view: that of the first message it covers
	Body         string         `json:"body,omitempty"` // its text
	Tokens       int            `json:"tokens"`         // of the summary as it is shown in a view
	SourceTokens int            `json:"sourceTokens"`   // of its direct sources
	Descendants  int            `json:"descendants"`    // number of summaries below it
	Messages     int            `json:"messages"`       // number of messages that it covers
	// MessageTokens is the cost of the messages that it covers.
	MessageTokens int64        `json:"messageTokens"`
	Earliest      time.Time    `json:"earliestAt"`        // of these messages
	Latest        time.Time    `json:"latestAt"`          // of these messages
	Files         []PayloadID  `json:"fileIds,omitempty"` // that these messages refer to
	Level         SummaryLevel `json:"level"`             // how short it had to be
	Method        string       `json:"method"`            // "extractive", "model"
	Model         string       `json:"model,omitempty"`   // that wrote it
	TokensIn      int          `json:"-"`                 // that the model read
	TokensOut     int          `json:"-"`                 // that the model wrote
	CreatedAt     time.Time    `json:"-"`                 // when it was written
	Revision      int          `json:"-"`                 // how often it was reworded
	Retired       bool         `json:"-"`                 // a rewind split it; the view does not lead to it
	// Damaged says that the text is not the one that was written.
	Damaged bool `json:"damaged,omitempty"`
	// Sources are those of a condensed summary, where they were asked for.
	Sources []ID `json:"-"`
}

// SummaryKind says whether a summary is made from messages or summaries.
type SummaryKind string

// The kinds of summary.
const (
	Leaf      SummaryKind = "leaf"      // made from messages
	Condensed SummaryKind = "condensed" // made from summaries, and messages stranded between them
)

// SummaryLevel says how short a summary must be.
type SummaryLevel string

// The levels, in the order in which they are tried.
const (
	Normal     SummaryLevel = "normal"
	Aggressive SummaryLevel = "aggressive" // shorter
	Fallback   SummaryLevel = "extractive" // sentences of the sources, without a model
)

// Summariser writes summaries. It must be safe for concurrent use: conversations
// are folded side by side, and a call that was given up may still be under
// way when the next one is made.
type Summariser interface {
	// Summarise returns a shorter text for the sources of r.
	Summarise(ctx context.Context, r SummaryRequest) (SummaryText, error)
}

// SummaryRequest asks a [Summariser] for one summary.
type SummaryRequest struct {
	Kind  SummaryKind  // made from messages, or from summaries
	Depth int          // 0 for a leaf
	Level SummaryLevel // how short it must be
	// Target is the length asked for, in tokens of Counter.
	Target  int
	Sources []SummarySource // to summarise, in order
	// Previous is the summary before these sources, for continuity. It is not to be
	// summarised.
	Previous string
	Counter  llms.Counter // counts tokens
}

// SummarySource is a message or an older summary to be summarised.
type SummarySource struct {
	ID     string      // msg_… or sum_…
	Kind   SummaryKind // empty for a message
	Role   llms.Role   // of a message
	Flags  Flag        // of a message: who wrote it
	Format llms.Format // in which a message arrived
	// Parts are those of a message; nil for a summary, and where they are not known.
	Parts []llms.Part
	Time  time.Time // when it was said
	Seq   int64     // the message's place in its conversation, or of the first it covers
	// Text is the rendered source: spoken text, tool calls and results,
	// references to files. For a summary it is its stored body.
	Text   string
	Tool   bool // Text is mostly tool traffic
	Tokens int  // of Text
}

// SummaryText is what a [Summariser] wrote, and its cost.
type SummaryText struct {
	// Text is the summary. If its last line does not begin with "Expand for details
	// about:", the engine adds such a line.
	Text      string
	Method    string // "extractive", "model"
	Model     string // empty without one
	TokensIn  int    // spent on the call, as the provider reported it
	TokensOut int    // that the model wrote
}

// FoldReport describes one run of folding messages into summaries.
type FoldReport struct {
	Conversation ConversationID `json:"conversation"`     // that was folded
	Mode         FoldMode       `json:"-"`                // how far it was to go
	Reason       FoldReason     `json:"reason"`           // why it ended
	Detail       string         `json:"detail,omitempty"` // explains the reason to an operator
	Passes       int            `json:"passes"`           // rounds of folding
	Leaves       int            `json:"leaves"`           // leaf summaries made
	Condensed    int            `json:"condensed"`        // condensed summaries made
	Stubs        int            `json:"stubs"`            // large messages that are shown as references now
	TokensBefore int            `json:"tokensBefore"`     // of the view
	TokensAfter  int            `json:"tokensAfter"`      // of the view
	Calls        int            `json:"calls"`            // of the summariser
	Fallbacks    int            `json:"fallbacks"`        // summaries that had to be made without it
	Bare         int            `json:"-"`                // fallbacks that only count their messages
	Stale        int            `json:"-"`                // how often the view had changed and the run planned anew
	TokensIn     int            `json:"-"`                // spent by the summariser, as its provider reported it
	TokensOut    int            `json:"-"`                // that the summariser's model wrote
	Elapsed      time.Duration  `json:"-"`                // how long it took
	Cause        error          `json:"-"`                // the last error of the summariser
}

// Folds is how many summaries the run made.
func (r FoldReport) Folds() int { return r.Leaves + r.Condensed }

// Unfinished reports whether the run stopped at a bound of its own, so that another
// run goes on.
func (r FoldReport) Unfinished() bool {
	return (r.Reason == FoldPasses || r.Reason == FoldDeadline) && r.Progress()
}

// Progress reports whether the run made the view smaller than it would be
// without the run: new messages may have made it larger again.
func (r FoldReport) Progress() bool {
	return r.Folds()+r.Stubs > 0 || r.TokensAfter < r.TokensBefore
}

// String describes the run in one line.
func (r FoldReport) String() string {
	s := fmt.Sprintf("conversation %d: %d → %d tokens in %d passes (%d leaf, %d condensed, %d stubs): %s",
		r.Conversation, r.TokensBefore, r.TokensAfter, r.Passes, r.Leaves, r.Condensed, r.Stubs, r.Reason)
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}

// FoldMode says how far a run goes.
type FoldMode string

// The modes of a run.
const (
	// FoldSoft stops below the low threshold and honours pauses after failures.
	FoldSoft FoldMode = "soft"
	// FoldHard must get below the hard threshold, and goes on to the low threshold
	// as far as its bounds allow. It waits for another process that is
	// folding the conversation.
	FoldHard FoldMode = "hard"
	// FoldFull folds everything outside the fresh tail, on a user's order.
	FoldFull FoldMode = "full"
)

// FoldReason says why a run ended.
type FoldReason string

// The reasons.
const (
	FoldBelow       FoldReason = "below"       // the view was below the threshold from the start
	FoldDone        FoldReason = "done"        // the view is below the threshold now, or in mode FoldFull nothing is left to fold
	FoldExhausted   FoldReason = "exhausted"   // nothing more can be folded; Detail says why
	FoldPasses      FoldReason = "passes"      // the bound on folds was reached
	FoldDeadline    FoldReason = "deadline"    // the bound on time was reached
	FoldSpend       FoldReason = "spend"       // the bound on calls of the summariser was reached
	FoldMoving      FoldReason = "moving"      // the view kept changing during the run
	FoldAuth        FoldReason = "auth"        // the summariser's key was refused: nothing was written
	FoldPause       FoldReason = "pause"       // earlier runs made no progress and the next one is not due yet
	FoldInterrupted FoldReason = "interrupted" // the run failed or was cancelled
	FoldBusy        FoldReason = "busy"        // another run is folding the conversation
	FoldBehind      FoldReason = "behind"      // the run is still under way
)
