package anthropic_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
)

func ExampleNew() {
	// A scripted server stands in for Anthropic's; leave BaseURL empty for that.
	server, err := llmtest.Serve(llmtest.Script(llmtest.Say("Hello, Ann.")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, closeIdle := llmtest.Client()
	defer closeIdle()
	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", BaseURL: server.URL, HTTPClient: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := llms.Complete(context.Background(), model, llms.Request{
		System:   "Greet people by name.",
		Messages: []llms.Message{llms.User("I am Ann.")},
	})
	if err != nil {
		fmt.Println(llms.ClassOf(err), err)
		return
	}
	fmt.Println(answer.Message.PlainText())
	// Output:
	// Hello, Ann.
}
