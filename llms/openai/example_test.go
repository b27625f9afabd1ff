package openai_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
)

func ExampleNew() {
	// A scripted server stands in for Ollama at http://localhost:11434/v1.
	server, err := llmtest.Serve(llmtest.Script(llmtest.Say("Hello, Ann.")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	model, err := openai.New(openai.Config{Model: "llama3.2", BaseURL: server.URL + "/v1", HTTPClient: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range model.Stream(context.Background(), llms.Request{Messages: []llms.Message{llms.User("I am Ann.")}}) {
		if err != nil {
			fmt.Println(llms.ClassOf(err), err)
			return
		}
		fmt.Printf("%s %q\n", event.Kind, event.Text)
	}
	// Output:
	// text "Hello, "
	// text "Ann."
	// end ""
}
