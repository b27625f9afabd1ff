package main

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms/llmtest"
)

func TestWithoutAProvider(t *testing.T) {
	var out strings.Builder
	if err := ask(t.Context(), func(string) string { return "" }, "12*34?", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `[multiply {"a":12,"b":34}]`) || !strings.Contains(out.String(), "12 times 34 is 408.") {
		t.Errorf("printed %q", out.String())
	}
}

func TestWithAServerOfOnesOwn(t *testing.T) {
	server, err := llmtest.Serve(llmtest.ByTurn(
		llmtest.Call("multiply", map[string]any{"a": 2, "b": 3}), llmtest.Say("Six.")))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	env := map[string]string{"OPENAI_BASE_URL": server.URL + "/v1", "MODEL": "llama"}
	var out strings.Builder
	if err := ask(t.Context(), func(name string) string { return env[name] }, "2*3?", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Six.") || !strings.Contains(out.String(), "openai/llama") {
		t.Errorf("printed %q", out.String())
	}
	delete(env, "MODEL")
	if err := ask(t.Context(), func(name string) string { return env[name] }, "2*3?", &out); err == nil {
		t.Error("a server without a model is accepted")
	}
}
