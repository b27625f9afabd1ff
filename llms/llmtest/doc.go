// Package llmtest has a scripted language model, for tests of agents and of
// programs that call models.
//
//	model := llmtest.New(llmtest.Script(
//		llmtest.Call("berth", map[string]any{"name": "Halcyon"}),
//		llmtest.Say("At berth 7."),
//	))
//	agent, err := agents.New(agents.AgentConfig{LLMEngine: model, AgentName: "harbour", Tools: tools})
//
// [New] returns an [llms.Model] in process. [Serve] starts an HTTP server on
// loopback that speaks the Anthropic Messages API, OpenAI's Chat Completions,
// OpenAI's Responses and Gemini's API, streamed or not, well enough for the official
// SDKs and for coding agents. [NewHandler] returns the same as an http.Handler. All of them
// record their requests.
//
// A [Responder] is a function from a request to a [Reply]. [Script] returns one
// that gives replies in the order of the calls. [ByTurn] returns one that gives
// them by the number of turns in the request: use it where a host makes side
// requests, retries, or runs several conversations at once. [Say] and [Call] make
// replies.
//
// A reply can fail as models fail: with an HTTP status, or with a stream that
// breaks off, hangs, or is not JSON. See [Fault].
//
// Nothing here is random, and nothing leaves the machine.
package llmtest
