// Package llms is the vocabulary in which the rest of the module speaks about
// conversations with language models: messages and their parts, the wire
// shapes that providers use for them, and what they cost in tokens.
//
// A [Message] has a role and parts. A part is text, reasoning, a tool call, a
// tool result or a blob (an image or a file); content that was moved out of
// the conversation because it was too large leaves a [Ref] in its place.
//
// A message that arrived in a provider's or host's own JSON keeps that JSON,
// byte for byte, in [Message.Raw]. Decode and Encode translate between the
// shapes: writing a message in the shape in which it arrived gives the
// original bytes back, and writing it in another shape carries over what the
// other shape can express.
//
// Token counting is a port, [Counter], with a fast estimate as the default
// ([Estimate]); package llms/tiktoken has a real tokenizer behind the same
// port, in a package of its own because its tables add megabytes to a binary.
package llms
