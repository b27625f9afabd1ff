package lcm_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

var updateDocs = flag.Bool("update", false, "rewrite docs/TOOLS.md")

// tool returns one of the session's tools.
func (l *long) tool(t testing.TB, name string) core.Tool {
	t.Helper()
	for _, tool := range l.session.Tools() {
		if tool.GetName() == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// call runs a tool as an agent does and reads the JSON it returns.
func (l *long) call(t testing.TB, name string, args map[string]any) map[string]any {
	t.Helper()
	text := l.tool(t, name).Call(nil, args)
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s(%v): %s", name, args, text)
	}
	return out
}

func fields(t testing.TB, what string, v any, names ...string) {
	t.Helper()
	object, _ := v.(map[string]any)
	for _, name := range names {
		if _, ok := object[name]; !ok {
			t.Errorf("%s has no field %q: %v", what, name, v)
		}
	}
}

// Every parameter of the specification: its type, whether it is required, its
// default and its bounds.
func TestToolParameters(t *testing.T) {
	type param struct {
		Type     string
		Required bool
		Default  any
		Enum     []any
		Min, Max any
	}
	want := map[string]map[string]param{
		"lcm_grep": {
			"pattern":          {Type: "string", Required: true},
			"mode":             {Type: "string", Enum: []any{"regex", "full_text"}}, // see the deviations
			"scope":            {Type: "string", Default: "both", Enum: []any{"messages", "summaries", "both"}},
			"conversationId":   {Type: "integer"},
			"allConversations": {Type: "boolean", Default: false},
			"since":            {Type: "string"},
			"before":           {Type: "string"},
			"limit":            {Type: "integer", Default: 50.0, Min: 1.0, Max: 200.0},
		},
		"lcm_describe": {
			"id":               {Type: "string", Required: true},
			"conversationId":   {Type: "integer"},
			"allConversations": {Type: "boolean", Default: false},
		},
		"lcm_expand_query": {
			"prompt":           {Type: "string", Required: true},
			"query":            {Type: "string"},
			"summaryIds":       {Type: "array"},
			"maxTokens":        {Type: "integer", Default: 2000.0, Min: 50.0, Max: 16000.0},
			"conversationId":   {Type: "integer"},
			"allConversations": {Type: "boolean", Default: false},
			"output":           {Type: "string", Default: "answer", Enum: []any{"answer", "evidence"}},
		},
	}
	l := newLong(t)
	for name, params := range want {
		var schema struct {
			Properties map[string]map[string]any
			Required   []string
		}
		if err := json.Unmarshal(l.tool(t, name).Parameters(), &schema); err != nil {
			t.Fatal(err)
		}
		for key, p := range params {
			got := schema.Properties[key]
			if got == nil {
				t.Errorf("%s has no parameter %s", name, key)
				continue
			}
			enum, _ := got["enum"].([]any)
			have := param{fmt.Sprint(got["type"]), slices.Contains(schema.Required, key), got["default"], enum, got["minimum"], got["maximum"]}
			if diff := cmp.Diff(p, have); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, key, diff)
			}
		}
	}
}

func TestGrepReturnsTheSpecifiedFields(t *testing.T) {
	l := newLong(t)
	out := l.call(t, "lcm_grep", map[string]any{"pattern": `47\.25 kPa`})
	matches := out["matches"].([]any)
	if len(matches) != 1 {
		t.Fatalf("%d matches", len(matches))
	}
	fields(t, "a message", matches[0], "id", "type", "snippet", "conversationId", "createdAt")
	m := matches[0].(map[string]any)
	if m["id"] != l.factID || m["type"] != "message" || !strings.Contains(m["snippet"].(string), "47.25 kPa") || m["coveredBy"] != l.leaf {
		t.Errorf("%v", m)
	}
	out = l.call(t, "lcm_grep", map[string]any{"pattern": "Work went on", "scope": "summaries", "limit": 3})
	matches = out["matches"].([]any)
	if len(matches) != 3 {
		t.Fatalf("%d summaries, want the limit of 3", len(matches))
	}
	fields(t, "a summary", matches[0], "id", "type", "snippet", "conversationId", "createdAt", "depth", "kind", "summaryId")
	if got := len(l.call(t, "lcm_grep", map[string]any{"pattern": "Step"})["matches"].([]any)); got != 50 {
		t.Errorf("without a limit %d matches, want 50", got)
	}
	if got := l.call(t, "lcm_grep", map[string]any{"pattern": "secret number"}); len(got["matches"].([]any)) != 0 {
		t.Error("another conversation was searched")
	}
	if got := l.call(t, "lcm_grep", map[string]any{"pattern": "secret number", "allConversations": true}); len(got["matches"].([]any)) == 0 {
		t.Error("not all conversations were searched")
	}
	if got := l.call(t, "lcm_grep", map[string]any{"pattern": "secret number", "conversationId": l.other}); len(got["matches"].([]any)) == 0 {
		t.Error("the conversation that was named was not searched")
	}
	for _, args := range []map[string]any{
		{"pattern": "valve pressure", "mode": "full_text", "allConversations": true},
		{"pattern": "gauge \\d reads", "since": "2026-02-02T00:00:00Z", "before": "2026-02-02T01:00:00Z", "scope": "messages"},
	} {
		if got := l.call(t, "lcm_grep", args); len(got["matches"].([]any)) == 0 {
			t.Errorf("%v finds nothing", args)
		}
	}
}

func TestDescribeReturnsTheSpecifiedFields(t *testing.T) {
	l := newLong(t)
	leaf := l.call(t, "lcm_describe", map[string]any{"id": l.leaf})
	fields(t, "a leaf", leaf, "content", "depth", "kind", "tokenCount", "createdAt", "earliestAt", "latestAt", "descendantCount", "childIds", "sourceMessageIds")
	if !slices.Contains(leaf["sourceMessageIds"].([]any), any(l.factID)) {
		t.Errorf("source messages: %v", leaf["sourceMessageIds"])
	}
	top := l.call(t, "lcm_describe", map[string]any{"id": l.top})
	if parents := top["parentIds"].([]any); len(parents) < 2 || top["kind"] != "condensed" || top["depth"].(float64) < 2 {
		t.Errorf("a condensed summary: %v", top)
	}
	session := l.engine.Session("files")
	big := llms.User(strings.Repeat("timestamp,level,message\n2026-02-01,info,started\n", 20_000))
	if err := session.Append(t.Context(), big); err != nil {
		t.Fatal(err)
	}
	var file string
	for _, tool := range session.Tools() {
		if tool.GetName() != "lcm_grep" {
			continue
		}
		out := tool.Call(nil, map[string]any{"pattern": "started"})
		file = regexp.MustCompile(`file_[0-9a-f]{16}`).FindString(out)
	}
	if file == "" {
		t.Fatal("the payload was not found")
	}
	got := l.call(t, "lcm_describe", map[string]any{"id": file, "allConversations": true})
	fields(t, "a file", got, "content", "fileName", "mimeType", "byteSize", "explorationSummary", "storagePath", "nextCursor")
	if !strings.HasPrefix(got["content"].(string), "timestamp,level,message\n") {
		t.Errorf("content: %.40q", got["content"])
	}
}

func TestExpandQueryReturnsTheSpecifiedFields(t *testing.T) {
	l := newLong(t)
	out := l.call(t, "lcm_expand_query", map[string]any{"query": "sluice valve", "prompt": "At what pressure does it open?"})
	fields(t, "an answer", out, "answer", "citedIds", "citations", "sourceConversationId", "sourceConversationIds",
		"expandedSummaryCount", "totalSourceTokens", "truncated", "method", "reason", "scope")
	if out["method"] != "evidence" || !strings.HasPrefix(out["reason"].(string), "no_model") || !strings.Contains(out["answer"].(string), fact) {
		t.Errorf("%v", out)
	}
	if size := llms.Estimate.Count(out["answer"].(string)); size > 2000 {
		t.Errorf("the answer has %d tokens, the default cap is 2,000", size)
	}
	if !slices.Contains(out["citedIds"].([]any), any(l.factID)) {
		t.Errorf("cited: %v", out["citedIds"])
	}
	small := l.call(t, "lcm_expand_query", map[string]any{"summaryIds": []string{l.top}, "prompt": "sluice valve", "maxTokens": 60, "output": "evidence"})
	if size := llms.Estimate.Count(small["answer"].(string)); size > 60 || small["reason"] != nil {
		t.Errorf("%d tokens, want at most 60: %v", size, small)
	}
}

func TestToolErrorsSayWhatToMend(t *testing.T) {
	l := newLong(t)
	for _, test := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"lcm_expand_query", map[string]any{"prompt": "what?"}, "neither summaryIds nor query"},
		{"lcm_expand_query", map[string]any{"prompt": "  ", "query": "x"}, "prompt is empty"},
		{"lcm_expand_query", map[string]any{"query": "x"}, `argument "prompt" is missing`},
		{"lcm_expand_query", map[string]any{"query": "x", "prompt": "y", "maxTokens": 49}, "must be at least 50"},
		{"lcm_expand_query", map[string]any{"query": "x", "prompt": "y", "maxTokens": 16001}, "must be at most 16000"},
		{"lcm_expand_query", map[string]any{"summaryIds": []string{"sum_0000000000000000"}, "prompt": "y"}, "not found"},
		{"lcm_expand_query", map[string]any{"summaryIds": []string{l.foreign}, "prompt": "y"}, "out of scope"},
		{"lcm_expand_query", map[string]any{"query": "x", "prompt": "y", "conversationId": 99}, "conversation 99: not found"},
		{"lcm_expand_query", map[string]any{"query": "x", "prompt": "y", "output": "poem"}, `must be one of "answer", "evidence"`},
		{"lcm_expand_query", map[string]any{"query": "x", "prompt": "y", "sumaryIds": 1}, `"sumaryIds" is unknown`},
		{"lcm_grep", map[string]any{"pattern": "("}, "missing closing"},
		{"lcm_grep", map[string]any{"pattern": "x", "limit": 201}, "must be at most 200"},
		{"lcm_grep", map[string]any{"pattern": "x", "since": "the day before"}, "is not a time"},
		{"lcm_describe", map[string]any{"id": "sum_0000000000000000"}, "not found"},
		{"lcm_describe", map[string]any{"id": l.foreign}, "allConversations: true"},
	} {
		got := l.tool(t, test.tool).Call(nil, test.args)
		if !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s(%v): %s, want %q", test.tool, test.args, got, test.want)
		}
		more := fmt.Sprintf(`expand(subject_type: "tool", subject_name: %q, troubleshoot: true)`, test.tool)
		if !strings.HasSuffix(got, more) {
			t.Errorf("%s(%v) does not say where to learn more: %s", test.tool, test.args, got)
		}
	}
	out := l.call(t, "lcm_expand_query", map[string]any{"query": "xylophone", "prompt": "zither?"})
	if out["method"] != "none" || !strings.Contains(out["answer"].(string), `matches "xylophone"`) || !strings.Contains(out["answer"].(string), "Try other words") {
		t.Errorf("no match: %v", out)
	}
	if notes := fmt.Sprint(out["notes"]); !strings.Contains(notes, `expand(subject_type: "tool", subject_name: "lcm_expand_query", troubleshoot: true)`) {
		t.Errorf("no match, and no way to learn more: %v", notes)
	}
	if ids, ok := out["sourceConversationIds"].([]any); !ok || len(ids) != 0 {
		t.Errorf("no match: sources %v", out["sourceConversationIds"])
	}
}

func TestGuidanceIsInTheSystemPrompt(t *testing.T) {
	l := newLong(t)
	want := "## Memory & Context\n\nUse LCM tools for recall:\n1. `lcm_grep` — Search all conversations by keyword/regex\n" +
		"2. `lcm_describe` — Inspect a specific summary (cheap, no sub-agent)\n3. `lcm_expand_query` — Deep recall with sub-agent expansion\n\n" +
		"When summaries in context have an \"Expand for details about:\" footer\nlisting something you need, use `lcm_expand_query` to get the full detail."
	here := "\n\nTo search all conversations, pass `allConversations: true`;\nwithout it the tools look in the current one."
	project := "\n\nBy default the tools look in all sessions of the project, and further where it has little.\n" +
		"Use `allConversations: true` to search across all projects."
	for got, want := range map[string]string{
		l.session.Guidance(): want + here, l.session.Memory(0).Guidance(): want + here,
		l.session.Memory(0, lcm.WithProjectScope()).Guidance(): want + project,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Every tool can be expanded, and its texts name its parameters and no others.
func TestToolsDocumentThemselves(t *testing.T) {
	l := newLong(t)
	all := l.session.Tools()
	for _, tool := range all {
		text := tools.Expand(all, nil, "tool", tool.GetName(), true).Text
		for _, want := range []string{"📄 Basic Description:", "📚 Advanced Description:", "🔧 Troubleshooting:"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no section %q", tool.GetName(), want)
			}
		}
		for _, own := range all { // in a loop without an agent's context
			if own.GetName() == tools.ExpandName && own.Call(nil, map[string]any{"subject_type": "tool", "subject_name": tool.GetName(), "troubleshoot": true}) != text {
				t.Errorf("%s cannot be expanded by the tool beside it", tool.GetName())
			}
		}
		if tool.GetName() == tools.ExpandName {
			continue
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.Parameters(), &schema); err != nil {
			t.Fatal(err)
		}
		documented := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(row[1], ", ") {
				documented[strings.Trim(name, "`")] = true
			}
		}
		for name := range schema.Properties {
			if !documented[name] {
				t.Errorf("%s does not document %[2]s: it needs a row | `%[2]s` | in prompts/%[1]s.md", tool.GetName(), name)
			}
		}
		for name := range documented {
			if schema.Properties[name] == nil {
				t.Errorf("%s documents %s, which it does not take", tool.GetName(), name)
			}
		}
	}
}

// The table in docs/TOOLS.md is made from the tools.
func TestToolsPageIsFresh(t *testing.T) {
	const begins, ends = "<!-- tools: go test . -run TestToolsPageIsFresh -update -->\n", "<!-- end of tools -->\n"
	var table strings.Builder
	table.WriteString("| tool | what it does | arguments |\n|---|---|---|\n")
	row := func(tool llms.Tool, dir string) {
		var schema struct {
			Required   []string
			Properties map[string]any
		}
		if err := json.Unmarshal(tool.Parameters(), &schema); err != nil {
			t.Fatal(err)
		}
		var arguments []string
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			if name = "`" + name + "`"; slices.Contains(schema.Required, strings.Trim(name, "`")) {
				name = "**" + name + "**"
			}
			arguments = append(arguments, name)
		}
		file := dir + "/" + tool.GetName() + ".md"
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		d, _ := core.AsDiscoverable(tool)
		fmt.Fprintf(&table, "| [`%s`](../%s) | %s | %s |\n", tool.GetName(), file, strings.ReplaceAll(d.BasicDescription(), "\n", " "), strings.Join(arguments, ", "))
	}
	for _, tool := range newLong(t).session.Tools(lcm.WithMaps(lcm.MapTools{Agent: &agents.AgentConfig{}})) {
		if tool.GetName() == tools.ExpandName {
			row(tool, "tools")
		} else {
			row(tool, "prompts")
		}
	}
	row(new(delegation.Grant).Tools()[0], "internal/recall/delegation/prompts")
	path := filepath.Join("docs", "TOOLS.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(page), begins)
	written, after, closed := strings.Cut(rest, ends)
	if !opened || !closed {
		t.Fatal("docs/TOOLS.md has no place for the table")
	}
	if *updateDocs {
		written = table.String()
		if err := os.WriteFile(path, []byte(before+begins+written+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(written, table.String()); diff != "" {
		t.Errorf("docs/TOOLS.md is not up to date: go test . -run TestToolsPageIsFresh -update\n%s", diff)
	}
}
