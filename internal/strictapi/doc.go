// Package strictapi is a scripted model behind HTTP that refuses what the real
// APIs refuse. Tests run agents against it, with and without lcm between them.
//
// It serves Anthropic Messages (with count_tokens), OpenAI Responses and OpenAI
// Chat Completions. llms/llmtest writes the answers; this package adds what
// llmtest leaves out on purpose:
//
//   - Each request is checked ([API] lists the rules) and refused with the
//     error of the real API.
//   - Input is counted from the bytes received, four for a token, and must fit
//     the window.
//   - The provider's prompt cache is simulated. The cost of a request is
//     input + 0.1 × read + 1.25 × written, in units of an uncached token.
//   - Each request leaves a [Record]: its size, verdict, cache use and cost.
//
// A [Script] decides each step of the model. The step is read from the end of the
// request: a prompt names a play ("play:long1"), and the ids of the calls carry the
// play and the step. So a script works on a request whose old messages were
// replaced, in a resumed session, in a sub-agent and after a rewind.
package strictapi
