package proxy

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A checkpoint counts before the first answer, if it is one of the conversation; so does a
// summary of the host.
func TestWhichCheckpoint(t *testing.T) {
	s := &session{index: overlay.NewIndex()}
	s.index.Add(store.Message{ID: 7, Seq: 1, Body: llms.User("hello")})
	s.index.Add(store.Message{ID: 9, Seq: 2, Flags: store.FlagHostSummary, Body: llms.User("what was done")})
	mark := func(id int64) apiform.Message { return apiform.Message{Role: apiform.User, Checkpoint: id} }
	says := func(text string) apiform.Message {
		return apiform.Message{Role: apiform.User, Texts: []apiform.Text{{Key: apiform.TextKey([]byte(text))}}}
	}
	answer := apiform.Message{Role: apiform.Assistant}
	for name, c := range map[string]struct {
		messages []apiform.Message
		want     store.MessageID
	}{
		"of the conversation":      {[]apiform.Message{says("hello"), mark(7), answer}, 7},
		"of another one":           {[]apiform.Message{mark(8), answer}, 0},
		"after an answer":          {[]apiform.Message{says("hello"), answer, mark(7)}, 0},
		"the host's own":           {[]apiform.Message{says("what was done"), answer}, 9},
		"the host's, of old":       {[]apiform.Message{says("hello"), answer, says("what was done")}, 0},
		"of another, and the host": {[]apiform.Message{mark(8), says("what was done"), answer}, 9},
	} {
		if got := s.checkpointOf(&apiform.Request{Messages: c.messages}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The newest summaries replace those that are shown if the request is too large, and only if
// they make it smaller.
func TestWhichSummariesAreLaid(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"hello"},
		{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"` + strings.Repeat("file ", 400) + `"}]},
		{"role":"assistant","content":[{"type":"text","text":"done"}]},{"role":"user","content":"and now?"}]}`
	req, err := apiform.ParseAfter(nil, apiform.Messages, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	ix := overlay.NewIndex()
	for i, m := range []llms.Message{
		llms.User("hello"), llms.Calls("", llms.ToolCall{ID: "c1", Name: "ls", Arguments: "{}"}), llms.Result("c1", "ls", "files", false), llms.Assistant("done"), llms.User("and now?"),
	} {
		ix.Add(store.Message{ID: store.MessageID(i + 1), Seq: int64(i + 1), Body: m})
	}
	plan := func(size int) *overlay.Plan {
		return overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_a", Text: strings.Repeat("x", size), Messages: []store.MessageID{2, 3}}})
	}
	short, long := plan(100), plan(200)
	for name, c := range map[string]struct {
		shown, ready *overlay.Plan
		budget       int
		want         *overlay.Plan
	}{
		"it fits":           {long, short, 1_000_000, long},
		"a smaller one":     {long, short, 1, short},
		"a larger one":      {short, long, 1, short},
		"one as large":      {short, plan(100), 1, short},
		"there is no other": {short, nil, 1, short},
	} {
		s := &session{server: &Server{cal: newCalibration(noState{}), ctx: t.Context()}, index: ix, shown: c.shown, ready: c.ready, budget: c.budget, model: "m"}
		laid, got, err := s.lay(req)
		if err != nil || got != c.want || len(laid.Edits) == 0 {
			t.Errorf("%s: short %v, %d edits, %v", name, got == short, len(laid.Edits), err)
		}
	} // Summaries in another order than the request are an error, unless the newest ones fit it.
	swapped := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_b", Text: "x", Messages: []store.MessageID{4}}, {ID: "sum_a", Text: "x", Messages: []store.MessageID{2, 3}}})
	for ready, want := range map[*overlay.Plan]bool{nil: false, swapped: false, short: true} {
		s := &session{server: &Server{cal: newCalibration(noState{}), ctx: t.Context()}, index: ix, shown: swapped, ready: ready, budget: 1, model: "m"}
		if _, _, err := s.lay(req); (err == nil) != want {
			t.Errorf("the newest are those that are shown %v, none %v: %v", ready == swapped, ready == nil, err)
		}
	}
}
