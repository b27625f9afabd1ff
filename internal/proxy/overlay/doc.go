// Package overlay lays the summaries of a stored conversation over a request of a
// host, and decides which messages of the request they replace.
//
// [Index] knows the anchors of the stored messages: the ids of their tool calls and
// results, and hashes of their texts. [Plan] is an ordered list of summaries with the
// messages beneath each ([Cover]). [Plan.Lay] is a pure function of a request, an index
// and a plan. It promises that
//
//   - a summary is used only if every message beneath it is in the request and is
//     dropped from it, or lies behind a checkpoint that the request carries. Some
//     messages stay beside the summary that covers them: those before the first
//     answer, the last prompt that the plan covers, and one that it covers in part;
//   - a message is dropped only if summaries that are used cover all of it. Texts of a
//     user message that the record does not have (a host's reminders) are said again in
//     its place;
//   - a tool call and its result stay or go together;
//   - the messages before the first answer, the newest prompt, the last message and
//     messages with parts of an unknown kind stay;
//   - messages of the role system stay, or are said again as reminders where the
//     messages after them are dropped;
//   - a message that stays is not changed;
//   - for one plan, the result for the beginning of a history does not depend on how
//     it goes on, so that the provider's cache keeps working.
//
// The caller decides when a plan is made and when it is shown.
package overlay
