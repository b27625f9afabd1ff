// Package openai runs models on OpenAI's official SDK, behind [llms.Model].
//
// It speaks two of OpenAI's APIs. Chat Completions is the default, because
// nearly every other server speaks it too: with Config.BaseURL the same model
// runs models of Ollama, vLLM, llama.cpp and the many hosted ones. Responses
// is for OpenAI's own reasoning models, whose reasoning it can carry from call
// to call.
//
// Rate limits and server errors before the first word are retried with
// back-off, by the SDK, unless the server asks to wait longer than 30 seconds;
// what is left is an [llms.Error] whose class says what can be done. A
// connection on which not a byte comes is given up after Config.IdleTimeout.
//
// The key comes from the config or, for OpenAI's own server, from
// OPENAI_API_KEY. It is sent to the server and appears nowhere else. The SDK's
// other environment variables are not read: what is configured is what
// happens.
//
// It is a package of its own because the SDK adds megabytes to a binary.
package openai
