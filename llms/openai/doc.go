// Package openai runs models of OpenAI and of compatible servers. It sends calls
// with OpenAI's SDK.
//
//	model, err := openai.New(openai.Config{Model: "qwen3", BaseURL: "http://localhost:11434/v1"})
//	if err != nil {
//		return err
//	}
//	answer, err := llms.Complete(ctx, model, llms.Request{Messages: []llms.Message{llms.User("Hello!")}})
//
// The package speaks two APIs. Chat Completions is the default, because Ollama,
// vLLM, llama.cpp and many hosted servers speak it too. Responses is for OpenAI's
// own reasoning models: it carries their reasoning from call to call.
//
// The key comes from the config or, for OpenAI's own server, from OPENAI_API_KEY.
// It is sent to the server and appears nowhere else. The SDK's other environment
// variables are not read.
//
// The SDK retries rate limits and server errors before the first word, with
// back-off, unless the server asks to wait longer than 30 seconds. Other failures
// are an [llms.Error] whose class says what to do. A call is given up when no byte
// has come for Config.IdleTimeout.
//
// The package is separate from llms because the SDK adds megabytes to a binary.
package openai
