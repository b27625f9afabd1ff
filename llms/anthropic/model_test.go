package anthropic_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatCannotWorkIsRefused(t *testing.T) {
	t.Setenv(anthropic.KeyVariable, "")
	_, err := anthropic.New(anthropic.Config{Model: "claude-test"})
	if llms.ClassOf(err) != llms.ClassAuth || !strings.Contains(err.Error(), anthropic.KeyVariable) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := anthropic.New(anthropic.Config{APIKey: "x"}); llms.ClassOf(err) != llms.ClassInvalid {
		t.Errorf("without a model: %v", err)
	}
	if _, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: "https://api.anthropic.com/v1"}); llms.ClassOf(err) != llms.ClassAuth {
		t.Errorf("the provider's own server, named: %v", err)
	}
	t.Setenv(anthropic.KeyVariable, "from the environment")
	model, err := anthropic.New(anthropic.Config{Model: "claude-test"})
	if err != nil || model.Name() != "anthropic/claude-test" {
		t.Errorf("with a key in the environment: %v", err)
	}
}

// The key in the environment belongs to Anthropic, not to whoever runs a
// compatible server.
func TestTheKeyOfTheEnvironmentStaysHome(t *testing.T) {
	t.Setenv(anthropic.KeyVariable, "sk-ant-of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
	server, err := llmtest.Serve(llmtest.Script(llmtest.Say("hi")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	defer server.Close()
	model, err := anthropic.New(anthropic.Config{Model: "local", BaseURL: server.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("hi")}}); err != nil {
		t.Fatal(err)
	}
	for name, values := range server.Exchanges()[0].Header {
		if strings.Contains(strings.Join(values, " "), "of-the-environment") {
			t.Errorf("header %s carries the key", name)
		}
	}
}

func TestAnUnwritableConversationIsInvalid(t *testing.T) {
	model, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{{Role: "nobody"}}})
	if llms.ClassOf(err) != llms.ClassInvalid {
		t.Errorf("got %v", err)
	}
}
