// Package assemble turns rows of the record into the messages that a model
// is sent.
//
// [Build] is a pure function: a view, the messages and summaries that it
// names, and a budget go in; messages come out. It promises that
//
//   - the total, counted on the messages as they are sent, is never above
//     the budget;
//   - the fresh tail is chosen first, then the newest user message, then the
//     newest of the rest that fits, and the order of the view is restored;
//   - every tool call is directly followed by exactly one result, no message
//     is empty and no call id occurs twice, so that the messages are valid
//     for Anthropic and OpenAI alike;
//   - a message that needed no repair is passed on unchanged, with the record
//     it was read from;
//   - the same input gives the same output, and while only the tail grows the
//     messages before it stay the same, byte for byte, so that a provider's
//     prompt cache keeps working. Each summary is a message of its own for
//     that reason: folding one part of a conversation does not touch the
//     messages before it. Images that no longer fit become references in
//     steps of an eighth of the budget.
//
// The text of a summary is untrusted: [RenderSummary] escapes and labels it, and
// takes ids, counts and times from the record, never from the text.
//
// [Finest] says which summaries stand for the old messages at a budget. The proxy asks it
// too, and lays them over a host's own messages.
//
// [Cuts] and [Tail] say where a view may be parted and which items are fresh.
// Package compact folds by the same two functions.
//
// Reading the rows, compacting a view that has grown too large and the system
// prompt are left to the callers.
package assemble
