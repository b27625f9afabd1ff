package lcm

import "testing"

// LiveQuestions counts the child sessions and callers of questions under way.
func (e *Engine) LiveQuestions(t testing.TB) (children, callers int) {
	t.Helper()
	a, err := e.ready()
	if err != nil {
		t.Fatal(err)
	}
	return a.questions.Live()
}
