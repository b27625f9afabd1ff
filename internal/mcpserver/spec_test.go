package mcpserver_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// asked is the structured content of lcm_expand_query.
type asked struct {
	Answer, Method, Reason, TruncatedBy string
	CitedIDs                            []string `json:"citedIds"`
	TotalSourceTokens                   int
	Truncated                           bool
	Notes                               []string
}

// The documented default of maxTokens, written out, is a cap like any other.
func TestTheDefaultLengthMayBeGiven(t *testing.T) {
	r := newRecord(t)
	var ms []llms.Message
	for i := range 60 {
		ms = append(ms, user("Entry %d about the anchor. %s The chain is %d fathoms.", i, strings.Repeat("Salt and tar and rope. ", 30), i*3))
	}
	r.say("claude:s1", r.dir, time.Minute, append(ms, user("thanks"))...)
	c := r.connect(r.serve(r.config()), clientOptions{})
	size := map[any]int{}
	for _, most := range []any{nil, 1999, 2000} {
		a := args{"prompt": "How many fathoms is the chain of the anchor?"}
		if most != nil {
			a["maxTokens"] = most
		}
		size[most] = llms.Estimate.Count(into[asked](t, c.call("lcm_expand_query", a)).Answer)
	}
	if size[nil] > 1000 || size[2000] < size[1999] || size[1999] < 1400 {
		t.Errorf("tokens by maxTokens: %v", size)
	}
}

// Both forms of an answer say the same: what is cited, what was read, what is cut.
func TestBothFormsOfAnAnswerSayTheSame(t *testing.T) {
	r := newRecord(t)
	for i := range 8 {
		r.say("claude:s1", r.dir, time.Minute, user("Make the lease timeout of gateway %d longer, to %d s.", i, 30+i), llms.Assistant(fmt.Sprintf("The lease timeout of gateway %d is longer. %s", i, strings.Repeat("Salt and tar. ", 60))))
	}
	r.say("claude:s1", r.dir, time.Second, user("thanks"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	ids := regexp.MustCompile(`(?:msg|sum)_\w+`)
	for _, most := range []int{120, 400, 1000} {
		got := c.call("lcm_expand_query", args{"prompt": "What is the lease timeout of the gateway?", "maxTokens": most})
		a := into[asked](t, got)
		for _, id := range ids.FindAllString(text(got), -1) {
			if !slices.Contains(a.CitedIDs, id) {
				t.Errorf("maxTokens %d: the text has %s, and citedIds %v", most, id, a.CitedIDs)
			}
		}
		if !a.Truncated || !strings.Contains(text(got), "truncated by "+a.TruncatedBy) || !strings.Contains(text(got), fmt.Sprintf("%d tokens of the record", a.TotalSourceTokens)) {
			t.Errorf("maxTokens %d: %+v\n%s", most, a, text(got))
		}
	}
	got := c.call("lcm_grep", args{"pattern": "What is the lease timeout of the gateway?", "mode": "full_text"})
	if !strings.Contains(text(got), "what the user said about it") {
		t.Fatalf("the user said nothing:\n%s", text(got))
	}
	structured := mustJSON(t, got.StructuredContent)
	for _, id := range ids.FindAllString(text(got), -1) {
		if !strings.Contains(structured, id) {
			t.Errorf("the text has %s, and the structured content not", id)
		}
	}
	if got := c.call("lcm_grep", args{"pattern": "What is the lease timeout of the gateway?", "mode": "full_text", "context": 0}); strings.Contains(text(got), "what the user said") || strings.Contains(text(got), "\n  · ") {
		t.Errorf("context 0 shows more than matches:\n%s", text(got))
	}
}

// allConversations: false written out where no conversation is current is as if it were left out.
func TestFalseWithoutACurrentConversation(t *testing.T) {
	r := newRecord(t)
	id := r.first(r.say("claude:s1", r.other, time.Minute, user("the needle is in the barn"), llms.Assistant("Noted.")))
	for _, dir := range []string{r.dir, ""} {
		config := r.config()
		config.Dir = dir
		c := r.connect(r.serve(config), clientOptions{})
		for tool, a := range map[string]args{"lcm_grep": {"pattern": "needle"}, "lcm_describe": {"id": id}, "lcm_expand_query": {"prompt": "where is the needle?"}} {
			a["allConversations"] = false
			got := c.call(tool, a)
			if got.IsError || !strings.Contains(text(got), "the needle is in the barn") || !strings.Contains(text(got), "allConversations: false was taken as left out") {
				t.Errorf("%s in %q: %s", tool, dir, text(got))
			}
		}
	}
}

// A client that asks for no progress gives up after a minute: it gets passages before. One that
// asks for it waits for the model.
func TestAnImpatientClientGetsEvidence(t *testing.T) {
	hanging := make(chan struct{})
	defer close(hanging)
	model := func(llms.Request) llmtest.Reply {
		<-hanging
		return llmtest.Say("late")
	}
	r := newRecord(t, lcm.WithAskModel(llmtest.New(model)))
	r.say("claude:s1", r.dir, time.Minute, user("We deploy with make ship."), user("How was that?"))
	config := r.config()
	config.Patience = time.Second
	c := r.connect(r.serve(config), clientOptions{})
	p := &mcp.CallToolParams{Name: "lcm_expand_query", Arguments: args{"prompt": "How do we deploy?"}}
	a := into[asked](t, c.callWith(p))
	if a.Method != "evidence" || !strings.HasPrefix(a.Reason, "timeout: ") || !strings.Contains(a.Answer, "make ship") {
		t.Errorf("%+v", a)
	}
	p.SetProgressToken("t1")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if got, err := c.CallTool(ctx, p); err == nil {
		t.Errorf("the model was not waited for: %s", text(got))
	}
}
