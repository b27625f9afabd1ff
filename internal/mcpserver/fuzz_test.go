package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/llms"
)

// FuzzMCPCall calls a tool of any name with any arguments. Whatever comes, the
// server goes on, its answer fits the tool's schema, and is no longer than it
// may be.
func FuzzMCPCall(f *testing.F) {
	for _, seed := range []struct{ tool, args string }{
		{"lcm_grep", `{"pattern":"needle"}`},
		{"lcm_grep", `{"pattern":"(","mode":"full_text","limit":200,"context":20,"allConversations":true}`},
		{"lcm_grep", `{"pattern":".*","since":"2026-01-01","before":"x","sort":"relevance","cursor":"eyJ2IjoxfQ"}`},
		{"lcm_grep", `{"pattern":"a","conversationId":-1e99}`},
		{"lcm_describe", `{"id":"msg_1","maxTokens":1}`},
		{"lcm_describe", `{"id":"sum_ file_ msg_99999999999999999999","startLine":3}`},
		{"lcm_expand_query", `{"prompt":"why?","query":"needle","maxTokens":16000}`},
		{"lcm_expand_query", `{"prompt":"?","summaryIds":["sum_x",""]}`},
		{"expand", `{"subject_type":"tool","subject_name":"lcm_grep","troubleshoot":"TRUE"}`},
		{"expand", `{"subject_type":{"a":[1]},"subject_name":null}`},
		{"lcm_expand", `{}`},
		{"lcm_grep", `[]`},
		{"lcm_grep", `{"pattern":"\ud800\u0000"}`},
		{"", `nonsense`},
	} {
		f.Add(seed.tool, seed.args)
	}
	r := newRecord(f)
	r.say("claude:s1", r.dir, time.Minute, user("the needle"), llms.Result("c", "cat", strings.Repeat("hay \"and\" hay\n", 2000), false), user("漢字 \x00 \xff needle"))
	// One client for all calls: the server has to survive each of them.
	c := r.connect(r.serve(r.config()), clientOptions{})
	f.Fuzz(func(t *testing.T, tool, args string) {
		if !json.Valid([]byte(args)) {
			return // is not sent as a call
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			var refused *jsonrpc.Error
			if !errors.As(err, &refused) {
				t.Fatalf("the server does not answer: %v", err)
			}
			return // no tool has that name
		}
		if n := llms.Estimate.Count(text(got)); n == 0 || n > mcpserver.DefaultMaxTokens {
			t.Fatalf("a text of %d tokens", n)
		}
		schema := c.schemas[tool]
		if got.IsError || schema == nil {
			return
		}
		if err := schema.Validate(got.StructuredContent); err != nil {
			t.Fatalf("the structured content does not fit the schema: %v", err)
		}
		if raw, err := json.Marshal(got.StructuredContent); err != nil || llms.Estimate.Count(string(raw)) > mcpserver.DefaultMaxTokens {
			t.Fatalf("structured content of %d tokens, %v", llms.Estimate.Count(string(raw)), err)
		}
	})
}
