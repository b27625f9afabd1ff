package ui_test

import (
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func said(text string, minute int) llms.Message {
	m := llms.User(text)
	m.Time = time.Date(2026, 3, 2, 9, minute, 0, 0, time.UTC)
	return m
}

// TestLanesOfASession checks the notes on a sub-agent and on a branch that was left.
func TestLanesOfASession(t *testing.T) {
	v := newSite(t)
	v.add("s", 0, []llms.Message{said("one", 0), said("two", 10), said("three", 20), said("four", 30)})
	v.add("sub", 0, []llms.Message{said("look at two", 11), said("done", 12)}, lcm.WithParent(1))
	err := v.engine.Store().Update(t.Context(), 1, func(w store.Writer) error {
		_, err := w.Rewind(t.Context(), 2, "test")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v.add("s", 0, []llms.Message{said("another three", 40)})
	page := v.page("/session/1")
	has(t, page, "A branch that was left: the conversation went on from <a href=\"/session/1?at=2\">message 2</a>",
		`<span class="note">sub-agent</span> <a href="/session/2">look at two</a>`)
	checkTags(t, "/session/1", page)
	on := map[int64]bool{}
	begins := map[int64]int{}
	for _, m := range api[struct {
		Messages []struct {
			Seq      int64
			OnBranch bool
			Begins   []any
		}
	}](v, "/session/1").Messages {
		on[m.Seq], begins[m.Seq] = m.OnBranch, len(m.Begins)
	}
	if on[2] || !on[3] || !on[4] || on[5] || begins[2] != 1 || begins[1]+begins[3] != 0 {
		t.Errorf("on the branch: %v; sub-agents begin: %v", on, begins)
	}
	has(t, v.page("/session/2"), "started by")
}
