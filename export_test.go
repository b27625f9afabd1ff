package lcm

import (
	"testing"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
)

// WithSubAgentRunner has runners that wrap makes run sub-agents.
func WithSubAgentRunner(wrap func(delegation.Runner) delegation.Runner) Option {
	return func(s *settings) error {
		made := s.expansion.newRunner
		s.expansion.newRunner = func(m llms.Model) delegation.Runner { return wrap(made(m)) }
		return nil
	}
}

// LiveQuestions counts the child sessions and callers of questions under way.
func (e *Engine) LiveQuestions(t testing.TB) (children, callers int) {
	t.Helper()
	return e.questions.Live()
}
