package llmtest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// post sends a request. Gemini's API has the wish for a stream in the path.
func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	if strings.Contains(body, `"stream":true`) {
		path = strings.Replace(path, ":generateContent", ":streamGenerateContent", 1)
	}
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

// Requests in the four formats, as coding agents send them: the same
// conversation, with a tool call and its result behind it.
const (
	anthropicRequest = `{"model":"claude-x","max_tokens":1024,"stream":%t,
		"system":[{"type":"text","text":"You are terse.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Mind the gap."}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"list files"}]},
			{"role":"assistant","content":[{"type":"text","text":"Looking."},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.txt"}]}],
		"tools":[{"name":"Bash","description":"Runs a command.","input_schema":{"type":"object"}}],
		"metadata":{"user_id":"u"}}`
	chatRequest = `{"model":"gpt-x","max_completion_tokens":1024,"stream":%t,"stream_options":{"include_usage":true},"stop":"END",
		"messages":[
			{"role":"system","content":"You are terse.\n\nMind the gap."},
			{"role":"user","content":"list files"},
			{"role":"assistant","content":"Looking.","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"ls\"}"}}]},
			{"role":"tool","tool_call_id":"toolu_1","content":"a.txt"}],
		"tools":[{"type":"function","function":{"name":"Bash","description":"Runs a command.","parameters":{"type":"object"}}}]}`
	responsesRequest = `{"model":"o-x","max_output_tokens":1024,"stream":%t,"instructions":"You are terse.\n\nMind the gap.",
		"input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"list files"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},
			{"type":"function_call","call_id":"toolu_1","name":"Bash","arguments":"{\"command\":\"ls\"}"},
			{"type":"function_call_output","call_id":"toolu_1","output":"a.txt"}],
		"tools":[{"type":"function","name":"Bash","description":"Runs a command.","parameters":{"type":"object"}},{"type":"web_search"}],
		"store":false,"include":["reasoning.encrypted_content"]}`
	geminiRequest = `{"stream":%t,"systemInstruction":{"role":"user","parts":[{"text":"You are terse."},{"text":"Mind the gap."}]},
		"contents":[
			{"role":"user","parts":[{"text":"list files"}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Looking."},{"functionCall":{"id":"toolu_1","name":"Bash","args":{"command":"ls"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","response":{"output":"a.txt"}}}]}],
		"tools":[{"functionDeclarations":[{"name":"Bash","description":"Runs a command.","parametersJsonSchema":{"type":"object"}}]}],
		"generationConfig":{"maxOutputTokens":1024}}`
)

var faces = []struct{ name, path, request string }{
	{"anthropic", "/v1/messages?beta=true", anthropicRequest},
	{"chat", "/v1/chat/completions", chatRequest},
	{"responses", "/v1/responses", responsesRequest},
	{"gemini", "/v1beta/models/gemini-x:generateContent", geminiRequest},
}

// What goes over the wire is held in golden files: real coding agents read it.
func TestWire(t *testing.T) {
	reply := llmtest.Reply{Reasoning: "think first", Text: "One file.",
		Calls: []llms.ToolCall{{Name: "Bash", Arguments: `{"command":"cat a.txt"}`}, {ID: "toolu_3", Name: "Bash", Arguments: "{}"}},
		Usage: llms.Usage{InputTokens: 50, OutputTokens: 9, CacheReadTokens: 30, CacheWriteTokens: 5}}
	for _, face := range faces {
		for _, stream := range []bool{true, false} {
			name := face.name
			if !stream {
				name += "_whole"
			}
			t.Run(name, func(t *testing.T) {
				h := llmtest.NewHandler(llmtest.ByTurn(llmtest.Say("first"), reply))
				w := post(h, face.path, fmt.Sprintf(face.request, stream))
				want := "text/event-stream"
				if !stream {
					want = "application/json"
				}
				if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want {
					t.Errorf("status %d, content type %q", w.Code, got)
				}
				golden(t, name, w.Body.String())
				if h.Usage() != reply.Usage {
					t.Errorf("usage %+v", h.Usage())
				}
			})
		}
	}
}

func TestRequestsAreUnderstoodAlike(t *testing.T) {
	for _, face := range faces {
		t.Run(face.name, func(t *testing.T) {
			h := llmtest.NewHandler(llmtest.ByTurn(llmtest.Say("first"), llmtest.Say("second")))
			if w := post(h, face.path, fmt.Sprintf(face.request, false)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "second") {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			e := h.Exchanges()[0]
			if e.Face != face.name || llmtest.Turn(e.Request) != 1 || llmtest.LastUserText(e.Request) != "list files" {
				t.Errorf("exchange %+v", e)
			}
			system, rest := llms.SplitSystem(e.Request.Messages)
			if got := strings.TrimSpace(e.Request.System + system); got != "You are terse.\n\nMind the gap." {
				t.Errorf("system %q", got)
			}
			var lines []string
			for _, m := range rest {
				for _, p := range m.Parts {
					if p.Kind != llms.PartReasoning {
						lines = append(lines, string(m.Role)+" "+llms.Message{Parts: []llms.Part{p}}.Render())
					}
				}
			}
			want := []string{"user list files", "assistant Looking.", `assistant → Bash({"command":"ls"})`, "tool ← a.txt"}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if e.Request.MaxTokens != 1024 || e.Request.Tools[0].Name != "Bash" || string(e.Request.Tools[0].Parameters) != `{"type":"object"}` {
				t.Errorf("request %+v", e.Request)
			}
		})
	}
}

func TestOddRequests(t *testing.T) {
	tests := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no JSON", "/v1/messages", `{`, 400, "invalid_request_error"},
		{"no JSON", "/v1/chat/completions", `{`, 400, "invalid_request_error"},
		{"no JSON", "/v1/responses", `{`, 400, "invalid_request_error"},
		{"no JSON", "/v1beta/models/m:generateContent", `{`, 400, "INVALID_ARGUMENT"},
		{"bad role", "/v1/messages", `{"messages":[{"role":"king","content":"x"}]}`, 400, "message 1"},
		{"bad role", "/v1/responses", `{"input":[{"role":"king","content":"x"}]}`, 400, "input item 1"},
		{"bad input", "/v1/responses", `{"input":5}`, 400, "neither a text nor a list"},
		{"bad item", "/v1/responses", `{"input":[5]}`, 400, "input item 1"},
		{"text input", "/v1/responses", `{"input":"hello"}`, 200, "you said hello"},
		{"developer and image", "/responses", `{"input":[{"role":"developer","content":"be brief"},{"role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"http://x/y.png"},{"type":"input_audio"},7]}]}`, 200, "you said look"},
		{"other items", "/responses", `{"input":[{"type":"item_reference","id":"x"},{"type":"custom_tool_call","call_id":"c","name":"patch","input":"***"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"ok"}]},{"type":"function_call_output","call_id":"c","output":{"odd":true}},{"role":"user","content":"go"}]}`, 200, "you said go"},
		{"without v1", "/messages", `{"messages":[{"role":"user","content":"hey"}]}`, 200, "you said hey"},
		{"count", "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"hey"}]}`, 200, `"input_tokens":`},
		{"bad count", "/v1/messages/count_tokens", `[`, 400, "invalid_request_error"},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.path, func(t *testing.T) {
			h := llmtest.NewHandler(func(r llms.Request) llmtest.Reply { return llmtest.Say("you said " + llmtest.LastUserText(r)) })
			w := post(h, test.path, test.body)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	h := llmtest.NewHandler(llmtest.Script())
	for path, status := range map[string]int{"/": 200, "/v1/models": 200, "/models": 200, "/v2": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
}

// Faults without streaming.
func TestWholeFaults(t *testing.T) {
	for _, face := range faces {
		body := fmt.Sprintf(face.request, false)
		h := llmtest.NewHandler(llmtest.Script(llmtest.Say("x").Broken(llmtest.FaultError, 0)))
		if w := post(h, face.path, body); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "scripted failure") {
			t.Errorf("%s: status %d: %s", face.name, w.Code, w.Body)
		}
		if w := post(h, face.path, body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no reply number 2") {
			t.Errorf("%s: beyond the script: %d %s", face.name, w.Code, w.Body)
		}
	}
}

func TestEngineInProcess(t *testing.T) {
	model := llmtest.New(llmtest.Script(
		llmtest.Reply{Reasoning: "a b", Text: "c d"}.And("foo", map[string]any{"n": 1}).And("foo", "{broken"),
		llmtest.Status(401, "bad key"),
		llmtest.Say("a b c").Broken(llmtest.FaultCut, 1),
		llmtest.Say("a b c").Broken(llmtest.FaultError, 1),
	))
	request := llms.Request{Messages: []llms.Message{llms.User("go")}}
	got, err := llms.Complete(t.Context(), model, request)
	if err != nil || got.Stop != llms.StopToolCalls || got.Usage.Total() == 0 || got.Usage != model.Usage() {
		t.Errorf("got %+v, %v", got, err)
	}
	want := []llms.ToolCall{{ID: "call_1_1", Name: "foo", Arguments: `{"n":1}`}, {ID: "call_1_2", Name: "foo", Arguments: "{broken"}}
	if diff := cmp.Diff(want, got.Message.ToolCalls()); diff != "" {
		t.Error(diff)
	}
	for _, class := range []llms.Class{llms.ClassAuth, llms.ClassTransient, llms.ClassTransient, llms.ClassInvalid} {
		if _, err := llms.Complete(t.Context(), model, request); llms.ClassOf(err) != class {
			t.Errorf("%v is not %s", err, class)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llms.Complete(ctx, model, request); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if got := len(model.Requests()); got != 6 {
		t.Errorf("%d requests are kept", got)
	}
}

// No request makes the server panic; what it cannot read it refuses.
func FuzzHandler(f *testing.F) {
	for i, face := range faces {
		f.Add(i, fmt.Sprintf(face.request, true))
		f.Add(i, fmt.Sprintf(face.request, false))
	}
	f.Add(2, `{"input":[{"type":"function_call_output","output":[{"type":"input_image"}]}]}`)
	f.Fuzz(func(t *testing.T, face int, body string) {
		h := llmtest.NewHandler(func(r llms.Request) llmtest.Reply { return llmtest.Say(llmtest.LastUserText(r)).And("x", "{}") })
		w := post(h, faces[uint(face)%uint(len(faces))].path, body)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d", w.Code)
		}
	})
}

func ExampleServe() {
	server, err := llmtest.Serve(llmtest.ByTurn(
		llmtest.Call("Bash", map[string]any{"command": "ls"}),
		llmtest.Say("There are two files."),
	))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	response, err := client.Post(server.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"list files"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	exchange := server.Exchanges()[0]
	fmt.Println(response.Status, exchange.Face, exchange.Reply.Calls[0].Name)
	// Output:
	// 200 OK chat Bash
}
