package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
)

// everything is a message with one part of each kind.
func everything() llms.Message {
	ref := &llms.Ref{ID: "file_00112233aabbccdd", Name: "build.log", MIME: "text/plain", Bytes: 81234, Tokens: 20110, Note: "1,200 lines, 3 errors"}
	return llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
		{Kind: llms.PartReasoning, Text: "look first", Signature: "sig"},
		{Kind: llms.PartText, Text: "Looking."},
		{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c1", Name: "grep", Arguments: `{"q":"é"}`}},
		{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c1", Name: "grep", Output: []llms.Part{{Kind: llms.PartText, Text: "a.go:1"}, {Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Name: "shot.png", Data: make([]byte, 12_345)}}}}},
		{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c2", IsError: true, Output: []llms.Part{{Kind: llms.PartText, Ref: ref}}}},
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "text/plain", Name: "notes.txt", Data: []byte("inside")}},
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/*", URL: "https://x.test/y.png"}},
		{Kind: llms.PartText, Ref: ref},
		{Kind: llms.PartOther, Extra: json.RawMessage(`{"type":"server_tool_use","name":"web"}`)},
	}}
}

func TestRender(t *testing.T) {
	want := strings.Join([]string{
		"[reasoning] look first",
		"Looking.",
		`→ grep({"q":"é"})`,
		"← grep: a.go:1",
		"[image/png shot.png 12 kB]",
		"← error: [file_00112233aabbccdd | build.log | text/plain | 81234 bytes | 20110 tokens] 1,200 lines, 3 errors",
		"[text/plain notes.txt 6 B]",
		"inside",
		"[image/* https://x.test/y.png]",
		"[file_00112233aabbccdd | build.log | text/plain | 81234 bytes | 20110 tokens] 1,200 lines, 3 errors",
		`[server_tool_use] {"type":"server_tool_use","name":"web"}`,
	}, "\n")
	if diff := cmp.Diff(want, everything().Render()); diff != "" {
		t.Errorf("Render (-want +got):\n%s", diff)
	}
}

func TestSearchText(t *testing.T) {
	want := strings.Join([]string{
		"look first", "Looking.", "grep", `{"q":"é"}`, "grep", "a.go:1", "shot.png", "build.log",
		"notes.txt", "inside", "https://x.test/y.png", "build.log", `{"type":"server_tool_use","name":"web"}`,
	}, "\n")
	if diff := cmp.Diff(want, everything().SearchText()); diff != "" {
		t.Errorf("SearchText (-want +got):\n%s", diff)
	}
	if got := llms.User("as it is\n").SearchText(); got != "as it is\n" {
		t.Errorf("SearchText of a text = %q", got)
	}
}

func TestRenderOneImageResult(t *testing.T) {
	m := llms.Message{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{Name: "snap", Output: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{Data: make([]byte, 2_500_000)}}}}}, {Kind: llms.PartToolResult, Result: &llms.ToolResult{}}, textPart("after")}}
	if got, want := m.Render(), "← snap: [file 2.5 MB]\n← \nafter"; got != want {
		t.Errorf("Render = %q, want %q", got, want)
	}
}

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " ": 1, "a": 1, "hello world": 3, "\n": 1, "12345": 2, "日本": 2, "😀": 3, "\xff": 1, "\x00\x00": 2, "für": 2,
	} {
		if got := llms.Estimate.Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestCountMessage(t *testing.T) {
	if got, want := llms.CountMessage(llms.Estimate, llms.User("hello world")), 4+3; got != want {
		t.Errorf("a text costs %d, want %d", got, want)
	}
	image := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: make([]byte, 1<<20)}}}}
	if got := llms.CountMessage(llms.Estimate, image); got != 1604 {
		t.Errorf("an image costs %d, want 1604", got)
	}
	file := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "application/pdf", Data: make([]byte, 64<<10+1)}}}}
	if got := llms.CountMessage(llms.Estimate, file); got != 3204 {
		t.Errorf("a file of two blocks costs %d, want 3204", got)
	}
	ref := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png"}, Ref: &llms.Ref{ID: "file_0"}}}}
	if got, want := llms.CountMessage(llms.Estimate, ref), 4+llms.Estimate.Count("[file_0 | 0 bytes | 0 tokens]"); got != want {
		t.Errorf("a ref costs %d, want its line: %d", got, want)
	}
	long := strings.Repeat("word ", 500)
	for name, m := range map[string]llms.Message{
		"call":      llms.Calls("", llms.ToolCall{Arguments: long}),
		"result":    llms.Result("a", "b", long, false),
		"reasoning": {Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartReasoning, Text: long}}},
		"other":     {Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartOther, Extra: json.RawMessage(`"` + long + `"`)}}},
	} {
		if got := llms.CountMessage(llms.Estimate, m); got < llms.Estimate.Count(long) {
			t.Errorf("a %s costs %d, less than its text", name, got)
		}
	}
}

func ExampleMessage_Render() {
	m := llms.Calls("Let me look.", llms.ToolCall{ID: "c1", Name: "grep", Arguments: `{"q":"ErrStale"}`})
	fmt.Println(m.Render())
	fmt.Println(llms.Result("c1", "grep", "store.go:41", false).Render())
	// Output:
	// Let me look.
	// → grep({"q":"ErrStale"})
	// ← grep: store.go:41
}

func ExampleDecode() {
	record := []byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"text","text":"Next?"}]}`)
	m, err := Decode(llms.FormatAnthropic, "", record)
	if err != nil {
		fmt.Println(err)
		return
	}
	records, err := EncodeAll(llms.FormatOpenAI, []llms.Message{m})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range records {
		fmt.Println(string(r))
	}
	// Output:
	// {"role":"tool","tool_call_id":"t1","content":"ok"}
	// {"role":"user","content":"Next?"}
}

func ExampleDetect() {
	_, err := Detect([]byte(`{"role":"robot","content":"beep"}`))
	fmt.Println(err)
	// Output: llms: unknown role "robot": it must be one of user, assistant, system, developer, tool, function
}

func ExampleCarve() {
	record := []byte(`{"role":"tool","content":"a very long output, in truth"}`)
	template, cuts := Carve(record, 20)
	fmt.Println(string(template), "+", string(cuts[0].Content))
	back, err := Join(template, cuts, nil)
	fmt.Println(string(back) == string(record), err)
	// Output:
	// {"role":"tool","content":""} + a very long output, in truth
	// true <nil>
}
