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
	CountedMore         = "the API counted more tokens than lcm had estimated"
	RecordBehind        = "the record could not be brought up to date"
)

// whyOver returns why a request is above the budget with all summaries that there are.
func (s *session) whyOver(r *apiform.Request) string {
	switch {
	case s.behind != "":
		return s.behind
	case s.tokens(r.Model, fixed(r)) > s.budget:
		return InstructionsTooLong
	case s.foldedOut:
		return NewestTooLong
	}
	return NotFolded
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
