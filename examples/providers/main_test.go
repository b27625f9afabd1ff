package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

func TestDocsListTheSettingsOfProviders(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "AGENTS_CONFIG.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []any{anthropic.Config{}, openai.Config{}} {
		typ := reflect.TypeOf(config)
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; name != "HTTPClient" && !strings.Contains(string(raw), "| `"+name+"` |") {
				t.Errorf("%v.%s is not listed", typ, name)
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("| `MaxTokens` | %d |", anthropic.DefaultMaxTokens),
		fmt.Sprintf("| `MaxRetries` | %d | %d |", anthropic.DefaultMaxRetries, openai.DefaultMaxRetries),
		fmt.Sprintf("| `IdleTimeout` | %v | %v |", anthropic.DefaultIdleTimeout, openai.DefaultIdleTimeout),
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the line %q is missing", want)
		}
	}
}

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
