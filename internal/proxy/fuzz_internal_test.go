package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// noState is a state in which nothing is kept.
type noState struct{ store.State }

func (noState) Get(context.Context, string, string) (store.Value, error) {
	return store.Value{}, store.ErrNotFound
}

// noTranscripts finds no transcript.
type noTranscripts struct{ Feed }

func (noTranscripts) Locate(context.Context, string, string, string) (hosts.Transcript, error) {
	return hosts.Transcript{}, hosts.ErrNoTranscript
}

// fuzzBudget is the budget of the requests, in tokens.
const fuzzBudget = 300

// fuzzed is the record of a session: a prompt and eight calls with their results, all
// but the last two behind summaries.
func fuzzed() (*overlay.Index, *overlay.Plan) {
	ix := overlay.NewIndex()
	var ids []store.MessageID
	add := func(role llms.Role, p llms.Part) {
		id := store.MessageID(len(ids) + 1)
		ix.Add(store.Message{ID: id, Seq: int64(id), Tokens: 20, Body: llms.Message{Role: role, Parts: []llms.Part{p}}})
		ids = append(ids, id)
	}
	add(llms.RoleUser, llms.Part{Kind: llms.PartText, Text: "begin"})
	for i := range 8 {
		add(llms.RoleAssistant, llms.Part{Kind: llms.PartText, Text: fmt.Sprint("step ", i)})
		add(llms.RoleAssistant, llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: fmt.Sprint("t", i), Name: "x"}})
		add(llms.RoleTool, llms.Part{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: fmt.Sprint("t", i)}})
	}
	var leaves []*overlay.Cover
	for from := 0; from+5 <= 18; from += 5 {
		leaves = append(leaves, &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum_", from)), Text: "s", Messages: ids[from : from+5]})
	}
	top := &overlay.Cover{ID: "sum_top", Text: "t", Summaries: leaves[:2]}
	return ix, overlay.NewPlan(ix, []*overlay.Cover{top, leaves[2]})
}

// FuzzRequest: whatever the body of a request is, the proxy does not panic, leaves it
// alone below the budget, and sends no call or result without its partner.
func FuzzRequest(f *testing.F) {
	step := map[apiform.Form]string{
		apiform.Messages:  `{"role":"assistant","content":[{"type":"text","text":"step %[1]d"},{"type":"tool_use","id":"t%[1]d","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]d","content":"%[2]s"}]}`,
		apiform.Responses: `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"step %[1]d"}]},{"type":"function_call","call_id":"t%[1]d"},{"type":"function_call_output","call_id":"t%[1]d","output":"%[2]s"}`,
		apiform.Chat:      `{"role":"assistant","content":"step %[1]d","tool_calls":[{"id":"t%[1]d"}]},{"role":"tool","tool_call_id":"t%[1]d","content":"%[2]s"}`,
	}
	ix, plan := fuzzed()
	send := func(t testing.TB, body []byte, form apiform.Form, limit int) (changed bool) {
		t.Helper()
		s := &Server{
			Config: Config{Feed: noTranscripts{}, Budget: func(string, int, store.Project) int { return fuzzBudget }, Log: slog.New(slog.DiscardHandler), CheckpointBytes: limit},
			cal:    newCalibration(noState{}), ctx: t.Context(),
		}
		// A long history: no request waits for the work in the background.
		one := &session{server: s, host: claude.Name, id: "x", kicked: make(chan struct{}, 1), news: make(chan struct{}), index: ix, ready: plan, viewTokens: 1 << 40}
		for range 2 { // the second one is read as the continuation of the first
			c := &call{server: s, session: one}
			out := c.rewrite(&http.Request{Header: http.Header{}}, form, body)
			checkFuzzed(t, c, form, body, out)
			changed = changed || out != nil
		}
		return changed
	}
	for form, text := range step {
		name := "messages"
		if form == apiform.Responses {
			name = "input"
		}
		body := `{"model":"m","tools":[{}],"` + name + `":[{"role":"user","content":"begin"}`
		for i := range 8 {
			body += "," + fmt.Sprintf(text, i, strings.Repeat("o", 200))
		}
		if !send(f, []byte(body+`]}`), form, 0) {
			f.Errorf("the request of form %d was not changed: nothing is tested", form)
		}
		f.Add([]byte(body+`]}`), int(form)-1, 0)
		f.Add([]byte(body+`,{"role":"user","content":"Respond with TEXT ONLY: create a detailed summary of the conversation"}]}`), int(form)-1, 1)
		f.Add([]byte(strings.Replace(body, "begin", "x [lcm checkpoint: everything up to msg_6]", 1)+`]}`), int(form)-1, 0)
	}
	f.Fuzz(func(t *testing.T, body []byte, form, limit int) {
		send(t, body, apiform.Form(1+(form&0xff)%3), 1500*(limit&1))
	})
}

func checkFuzzed(t testing.TB, c *call, form apiform.Form, body, out []byte) {
	t.Helper()
	switch {
	case c.made.Failure == failedInside:
		t.Fatal("the proxy panicked")
	case out == nil:
		return
	case c.made.FullTokens <= fuzzBudget:
		t.Fatal("a request below the budget was changed")
	case json.Valid(body) && !json.Valid(out):
		t.Fatalf("not JSON any more: %s", out)
	}
	before, err := apiform.Parse(form, body)
	if err != nil {
		t.Fatal(err)
	}
	after, err := apiform.Parse(form, out)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	open := unpaired(before)
	for k, n := range unpaired(after) {
		if open[k] != n {
			t.Fatalf("a call or result has lost its partner:\n%s\n%s", body, out)
		}
	}
}

// unpaired returns the calls without results, 1, and the results without calls, -1.
func unpaired(r *apiform.Request) map[apiform.Key]int {
	open := map[apiform.Key]int{}
	for i := range r.Messages {
		for _, k := range r.Messages[i].Calls {
			open[k]++
		}
		for _, k := range r.Messages[i].Results {
			open[k]--
		}
	}
	maps.DeleteFunc(open, func(_ apiform.Key, n int) bool { return n == 0 })
	return open
}
