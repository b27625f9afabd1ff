// Package apiform reads and rewrites the request bodies of model APIs: Anthropic
// Messages, OpenAI Responses, OpenAI Chat Completions and Gemini's generateContent.
//
// [Parse] finds the messages of a body and their anchors: the ids of tool calls and
// results, and hashes of texts. A host sends its whole history in each request:
// [ParseAfter] takes the request before and reads only the messages that are new.
// [Request.Rewrite] replaces runs of messages with new user messages. Every message
// that stays is sent with the bytes it arrived in, so that signatures of thinking
// blocks and prompt caches stay valid.
//
// A body that is not of the expected form is an error, and the caller sends it as it
// is. Parse never panics, whatever the bytes are.
//
// [Usage] is the token count of an answer; [UsageReader] finds it in a stream of
// events or a JSON answer that passes by.
package apiform
