package openai_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatCannotWorkIsRefused(t *testing.T) {
	t.Setenv(openai.KeyVariable, "")
	_, err := openai.New(openai.Config{Model: "gpt-test"})
	if llms.ClassOf(err) != llms.ClassAuth || !strings.Contains(err.Error(), openai.KeyVariable) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := openai.New(openai.Config{APIKey: "x"}); llms.ClassOf(err) != llms.ClassInvalid {
		t.Errorf("without a model: %v", err)
	}
	if _, err := openai.New(openai.Config{APIKey: "x", Model: "m", API: "telepathy"}); llms.ClassOf(err) != llms.ClassInvalid {
		t.Errorf("with an unknown API: %v", err)
	}
	if _, err := openai.New(openai.Config{Model: "m", BaseURL: "https://api.openai.com/v1"}); llms.ClassOf(err) != llms.ClassAuth {
		t.Errorf("the provider's own server, named: %v", err)
	}
	t.Setenv(openai.KeyVariable, "from the environment")
	model, err := openai.New(openai.Config{Model: "gpt-test"})
	if err != nil || model.Name() != "openai/gpt-test" {
		t.Errorf("with a key in the environment: %v", err)
	}
}

// The key in the environment belongs to OpenAI, not to whoever runs a
// compatible server.
func TestTheKeyOfTheEnvironmentStaysHome(t *testing.T) {
	t.Setenv(openai.KeyVariable, "sk-of-the-environment")
	t.Setenv("OPENAI_ORG_ID", "org-of-the-environment")
	server, err := llmtest.Serve(llmtest.ByTurn(llmtest.Say("hi")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	defer server.Close()
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		model, err := openai.New(openai.Config{Model: "llama", API: api, BaseURL: server.URL + "/v1", HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("hi")}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, exchange := range server.Exchanges() {
		for name, values := range exchange.Header {
			if strings.Contains(strings.Join(values, " "), "of-the-environment") {
				t.Errorf("header %s carries the key", name)
			}
		}
	}
}

func TestAnUnwritableConversationIsInvalid(t *testing.T) {
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		model, err := openai.New(openai.Config{Model: "m", API: api, BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{{Role: "nobody"}}})
		if llms.ClassOf(err) != llms.ClassInvalid {
			t.Errorf("%s: got %v", api, err)
		}
	}
}

func TestStopTexts(t *testing.T) {
	server, err := llmtest.Serve(llmtest.ByTurn(llmtest.Say("hi")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	defer server.Close()
	ask := func(api openai.API) error {
		model, err := openai.New(openai.Config{Model: "m", API: api, BaseURL: server.URL + "/v1", HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}, Stop: []string{"END"}})
		return err
	}
	if err := ask(openai.Chat); err != nil {
		t.Error(err)
	}
	if got := server.Exchanges()[0].Request.Stop; len(got) != 1 || got[0] != "END" {
		t.Errorf("the server saw the stop texts %q", got)
	}
	if err := ask(openai.Responses); llms.ClassOf(err) != llms.ClassInvalid {
		t.Errorf("stop texts that the API does not know: %v", err)
	}
}

// Reasoning that the Responses API encrypted goes back to it, and nothing of
// another provider's does.
func TestResponsesCarriesItsOwnReasoning(t *testing.T) {
	server, err := llmtest.Serve(llmtest.ByTurn(
		llmtest.Reply{Reasoning: "hm", Calls: []llms.ToolCall{{ID: "c1", Name: "look", Arguments: "{}"}}}, llmtest.Say("seen")))
	if err != nil {
		t.Fatal(err)
	}
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	defer server.Close()
	model, err := openai.New(openai.Config{Model: "o", API: openai.Responses, BaseURL: server.URL + "/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	request := llms.Request{Messages: []llms.Message{llms.User("look")}}
	first, err := llms.Complete(t.Context(), model, request)
	if err != nil {
		t.Fatal(err)
	}
	foreign := llms.Part{Kind: llms.PartReasoning, Text: "foreign thought", Signature: "abc"}
	first.Message.Parts = append([]llms.Part{foreign}, first.Message.Parts...)
	request.Messages = append(request.Messages, first.Message, llms.Result("c1", "look", "a tree", false))
	if _, err := llms.Complete(t.Context(), model, request); err != nil {
		t.Fatal(err)
	}
	body := string(server.Exchanges()[1].Body)
	if !strings.Contains(body, `"encrypted_content":"c2NyaXB0ZWQ="`) || !strings.Contains(body, `"summary":[{"type":"summary_text","text":"hm"}]`) {
		t.Errorf("the reasoning did not go back: %s", body)
	}
	if strings.Contains(body, "foreign thought") {
		t.Errorf("another provider's reasoning went along: %s", body)
	}
}
