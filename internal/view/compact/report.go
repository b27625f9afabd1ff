package compact

import (
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Mode says how far a run goes.
type Mode string

// The modes of a run.
const (
	// Soft stops below the low threshold and honours the ledger's pauses.
	Soft Mode = "soft"
	// Hard must get below the hard limit, and goes on to the low threshold
	// as far as its bounds allow. It waits for another process that is
	// compacting the conversation.
	Hard Mode = "hard"
	// Full folds everything outside the fresh tail, on a user's order.
	Full Mode = "full"
)

// Reason says why a run ended.
type Reason string

// The reasons.
const (
	// Below says that the view was below the threshold from the start.
	Below Reason = "below"
	// Done says that the view is below the threshold now, or that in mode
	// Full nothing is left to fold.
	Done Reason = "done"
	// Exhausted says that nothing more can be folded; Report.Detail says why.
	Exhausted Reason = "exhausted"
	// Passes, Deadline and Spend are the bounds of a run.
	Passes   Reason = "passes"
	Deadline Reason = "deadline"
	Spend    Reason = "spend"
	// Moving says that the view kept changing under the run.
	Moving Reason = "moving"
	// Auth says that the summariser's key was refused: nothing was written.
	Auth Reason = "auth"
	// Failing says that the summariser failed several times in a row.
	Failing Reason = "failing"
	// Pause says that earlier runs made no progress and the next one is not
	// due yet.
	Pause Reason = "pause"
	// Interrupted says that the run failed or was cancelled.
	Interrupted Reason = "interrupted"
	// Busy says that another run is compacting the conversation.
	Busy Reason = "busy"
	// Behind says that the run is still under way.
	Behind Reason = "behind"
)

// Report describes a run.
type Report struct {
	Conversation store.ConversationID `json:"conversation"`
	Mode         Mode                 `json:"-"`
	Reason       Reason               `json:"reason"`
	// Detail explains the reason to an operator.
	Detail       string `json:"detail,omitempty"`
	Passes       int    `json:"passes"`
	Leaves       int    `json:"leaves"`
	Condensed    int    `json:"condensed"`
	Stubs        int    `json:"stubs"`
	TokensBefore int    `json:"tokensBefore"`
	TokensAfter  int    `json:"tokensAfter"`
	// Calls counts calls to the model-backed summariser, Fallbacks the
	// summaries that had to be made without it, Bare those of them that only
	// count their messages.
	Calls     int `json:"calls"`
	Fallbacks int `json:"fallbacks"`
	Bare      int `json:"-"`
	// Stale counts how often the view had moved and the run planned anew.
	Stale     int           `json:"-"`
	TokensIn  int           `json:"-"` // spent by the summariser, as its provider reported it
	TokensOut int           `json:"-"`
	Elapsed   time.Duration `json:"-"`
	// Cause is the last error of the summariser, if there was one.
	Cause error `json:"-"`
}

// Folds is how many summaries the run made.
func (r Report) Folds() int { return r.Leaves + r.Condensed }

// Unfinished reports whether the run stopped at a bound of its own, so that another
// run goes on.
func (r Report) Unfinished() bool {
	return (r.Reason == Passes || r.Reason == Deadline) && r.Progress()
}

// Progress reports whether the run made the view smaller than it would be
// without the run: new messages may have made it larger again.
func (r Report) Progress() bool { return r.Folds()+r.Stubs > 0 || r.TokensAfter < r.TokensBefore }

// String describes the run in one line.
func (r Report) String() string {
	s := fmt.Sprintf("conversation %d: %d → %d tokens in %d passes (%d leaf, %d condensed, %d stubs): %s",
		r.Conversation, r.TokensBefore, r.TokensAfter, r.Passes, r.Leaves, r.Condensed, r.Stubs, r.Reason)
	if r.Detail != "" {
		s += ": " + r.Detail
	}
	return s
}
