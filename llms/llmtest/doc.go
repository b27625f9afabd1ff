// Package llmtest is a language model that says what a test tells it to.
//
// A [Responder] is a function from a request to a [Reply]. [Script] gives replies
// in the order of the calls, [ByTurn] by how far the conversation has come,
// which also works when a host makes side requests, retries, or runs many
// conversations at once.
//
// The same model can be used in two ways. [New] is an [llms.Model] in
// process. [Serve] is an HTTP server on loopback that speaks the Anthropic
// Messages API, OpenAI's Chat Completions and OpenAI's Responses, streamed or
// not, well enough for the official SDKs and for coding agents; [NewHandler]
// is the same as an http.Handler. Both keep what they were asked.
//
// A reply can fail in the ways models fail: an HTTP status, a stream that
// breaks off, hangs, or turns into something that is not JSON. See [Fault].
//
// Nothing here is random, and nothing leaves the machine.
package llmtest
