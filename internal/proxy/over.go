package proxy

import (
	"cmp"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

// UnknownClient is the session key of all requests of clients that lcm does not know.
const UnknownClient = "unknown"

// The reasons for which a request is sent above its budget.
const (
	NoKnownAgent        = "no transcript of a known agent belongs to it"
	NoTranscript        = "its session has no transcript, or none yet"
	KeptOut             = "the settings keep its session out of the record"
	NotFolded           = "not folded yet"
	InstructionsTooLong = "the instructions, the tools and the messages before the first answer are above the budget alone"
	NewestTooLong       = "the newest messages are above the budget alone"
	SummariesUnfit      = "the summaries do not fit the messages that the agent sends"
	CountedMore         = "the API counted more tokens than lcm had estimated"
	RecordBehind        = "the record could not be brought up to date"
)

// whyOver returns why a request is above the budget with all summaries that there are.
func (s *session) whyOver(r *apiform.Request) string {
	switch {
	case s.behind != "":
		return s.behind
	case s.tokens(r.Model, fixed(r, s.budget)) > s.budget:
		return InstructionsTooLong
	case !s.foldedOut:
		return NotFolded
	case s.tokens(r.Model, fixed(r, s.budget)+newest(r)) > s.budget*3/4: // the rest is for summaries
		return NewestTooLong
	}
	return SummariesUnfit
}

// newest is the size of the newest messages, which are never folded: the newest step, and the prompt
// before it.
func newest(r *apiform.Request) int {
	from, units := newestStep(r)
	for i := from - 1; i >= 0; i-- {
		if r.Messages[i].Prompt() {
			return units + r.Messages[i].Units
		}
	}
	return units
}

// judge decides by the answer whether the request was above its budget: the API's count
// goes before the estimate.
func (c *call) judge(u apiUsage) {
	m := &c.made
	switch {
	case c.answer != nil || c.server.Observe || m.Subscription || m.Budget == 0 || cmp.Or(u.Total(), m.Tokens) <= m.Budget:
		m.Over = ""
	case m.Over == "":
		m.Over = cmp.Or(m.Failure, CountedMore)
	}
}
