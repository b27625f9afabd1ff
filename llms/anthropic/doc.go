// Package anthropic runs Claude models. It sends calls with Anthropic's SDK.
//
//	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"})
//	if err != nil {
//		return err
//	}
//	answer, err := llms.Complete(ctx, model, llms.Request{Messages: []llms.Message{llms.User("Hello!")}})
//
// Config.BaseURL selects another server that speaks the Messages API.
//
// The key comes from the config or, for Anthropic's own server, from
// ANTHROPIC_API_KEY. It is sent to the server and appears nowhere else. The SDK's
// own environment variables and profiles are not read.
//
// The SDK retries rate limits and server errors before the first word, with
// back-off, unless the server asks to wait longer than 30 seconds. Other failures
// are an [llms.Error] whose class says what to do. A call is given up when no byte
// has come for Config.IdleTimeout.
//
// The package is separate from llms because the SDK adds megabytes to a binary.
package anthropic
