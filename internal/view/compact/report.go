package compact

import "github.com/lossless-context/lcm/record"

// The data types of reports, which are public.
type (
	Mode   = record.FoldMode
	Reason = record.FoldReason
	Report = record.FoldReport
)

// The modes of a run, and the reasons for its end.
const (
	Soft        = record.FoldSoft
	Hard        = record.FoldHard
	Full        = record.FoldFull
	Below       = record.FoldBelow
	Done        = record.FoldDone
	Exhausted   = record.FoldExhausted
	Passes      = record.FoldPasses
	Deadline    = record.FoldDeadline
	Spend       = record.FoldSpend
	Moving      = record.FoldMoving
	Auth        = record.FoldAuth
	Pause       = record.FoldPause
	Interrupted = record.FoldInterrupted
	Busy        = record.FoldBusy
	Behind      = record.FoldBehind
)
