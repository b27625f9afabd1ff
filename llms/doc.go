// Package llms is the vocabulary in which the rest of the module speaks about
// conversations with language models: messages and their parts, the wire
// shapes that providers use for them, what they cost in tokens, and the port
// behind which the models are ([Model]).
//
// A [Message] has a role and parts. A part is text, reasoning, a tool call, a
// tool result or a blob (an image or a file); a provider's block that is none
// of these is kept whole as [PartOther]. Content that was moved out of the
// conversation because it was too large leaves a [Ref] in its place.
//
// # Shapes
//
// A message that arrived in a provider's or host's own JSON keeps that JSON,
// byte for byte, in [Message.Raw]. [Decode] and [Encode] translate between the
// shapes: writing a message in the shape in which it arrived gives the
// original bytes back, and writing it in another shape carries over what the
// other shape can express; [EncodeAll] says what changes on the way. The
// module's own shape, [FormatLCM], can express everything. [Detect] tells the
// shapes apart.
//
// Records are untrusted: whatever their bytes are, reading them ends in a
// message or an error, in time linear in their length.
//
// # Long records
//
// [Carve] takes long strings out of a record and [Join] puts them back, byte
// for byte. A store keeps a large tool output or image once this way, in the
// clear and so searchable, although the record spells it with escapes or in
// base64.
//
// # Tokens
//
// Token counting is a port, [Counter], with a fast estimate as the default
// ([Estimate]); package llms/tiktoken has a real tokenizer behind the same
// port, in a package of its own because its tables add megabytes to a binary.
// [CountMessage] counts a message as it is sent.
//
// # What is left to others
//
// What to leave out of a prompt, how calls and results are paired, and what a
// provider accepts beyond the shape of a message are the business of the
// packages that assemble and send prompts.
package llms
