// Package llms has the words for conversations with language models: messages,
// the interface of a model, its errors, and the counting of tokens.
//
// # Calling a model
//
// A [Model] answers a [Request]. Packages llms/anthropic and llms/openai have
// models of providers, llms/llmtest has a scripted one for tests.
//
//	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"})
//	if err != nil {
//		return err
//	}
//	answer, err := llms.Complete(ctx, model, llms.Request{
//		System:   "You are terse.",
//		Messages: []llms.Message{llms.User("What is the capital of France?")},
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(answer.Message.PlainText())
//
// [Complete] waits for the whole answer. Model.Stream yields it as it comes, as
// events; a [Collector] puts events together.
//
// # Messages
//
// A [Message] has a role and parts. A [Part] is text, reasoning, a tool call, a
// tool result, or a blob (an image or a file). A provider's block that is none of
// these is kept whole as [PartOther]. A [Ref] stands in for content that was too
// large for the conversation and is stored apart.
//
// [User], [Assistant], [System], [Calls] and [Result] make messages. A message
// that was read from a provider's or host's JSON keeps that JSON in Message.Raw.
//
// # Errors
//
// A failed call returns an [*Error]. [ClassOf] says what a caller can do about it:
// wait and try again, send less, or ask the user for a key or for credit.
//
// # Writing a model
//
// Type [Model] states what an implementation promises. These help to keep it:
// [Classify] turns a provider's failure into an [*Error] without secrets,
// [WatchHTTP] and [GiveUpWhenIdle] end a call whose server has gone silent,
// [SplitSystem] is for APIs with a separate system prompt.
//
// # Tokens
//
// A [Counter] counts tokens. [Estimate] is fast and needs no tables; package
// llms/tiktoken counts exactly for OpenAI's models. [CountMessage] counts a
// message as it is sent.
package llms
