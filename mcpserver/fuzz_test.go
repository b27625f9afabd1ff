package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/mcpserver"
)

// FuzzMCPCall sends a tool call with any name and arguments, or any line at
// all, to a server. Whatever comes, the server goes on, says nothing but the
// protocol, and no answer is longer than it may be.
func FuzzMCPCall(f *testing.F) {
	for _, seed := range []struct{ tool, args string }{
		{"lcm_grep", `{"pattern":"needle"}`},
		{"lcm_grep", `{"pattern":"(","mode":"full_text","limit":200,"context":20,"allConversations":true}`},
		{"lcm_grep", `{"pattern":".*","since":"2026-01-01","before":"x","sort":"hybrid","cursor":"eyJ2IjoxfQ"}`},
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
	config := r.config()
	f.Fuzz(func(t *testing.T, tool, args string) {
		call := `"lost"`
		if raw, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": json.RawMessage(args)},
		}); err == nil {
			call = string(raw)
		} else if !strings.ContainsAny(args, "\n") {
			call = args
		}
		s, err := mcpserver.New(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var out bytes.Buffer
		in := strings.Join([]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, call, ``,
		}, "\n")
		// A line that is not JSON ends the connection, as the protocol's SDK
		// has it; that is no failure of the server's.
		_ = s.ServeStdio(t.Context(), strings.NewReader(in), &out)
		check(t, &out)
	})
}

func check(t *testing.T, out io.Reader) {
	raw, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var m struct {
			JSONRPC string `json:"jsonrpc"`
			Result  struct {
				Content    []struct{ Text string } `json:"content"`
				Structured json.RawMessage         `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("not the protocol: %q", line)
		}
		for _, c := range m.Result.Content {
			if n := llms.Estimate.Count(c.Text); n > mcpserver.DefaultMaxTokens {
				t.Fatalf("a text of %d tokens", n)
			}
		}
		if n := llms.Estimate.Count(string(m.Result.Structured)); n > mcpserver.DefaultMaxTokens*6/5 { // as it is escaped on the way
			t.Fatalf("structured content of %d tokens", n)
		}
	}
}
