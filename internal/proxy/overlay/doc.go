// Package overlay lays the summaries of a stored conversation over a request of a
// host, and decides which messages of the request they replace.
//
// [Index] knows the anchors of the stored messages: the ids of their tool calls and
// results, and hashes of their texts. [Plan] is an ordered list of summaries with
// everything beneath each ([Cover]). [Plan.Lay] is a pure function of a request, an index
// and a plan.
//
// # Sources and dropped messages
//
// An answer of the model and the results of its calls are a unit, and so is every other
// message. A unit stays or goes as a whole. Lay promises that
//
//   - every stored message beneath a summary that is used is in the request, lies
//     behind a checkpoint that the request carries, or is named beside the summary as
//     one that the host has left out: hosts do that after an interrupted turn. A call
//     without a stored result may be missing: hosts drop it after a kill;
//   - a unit is dropped only if summaries that are used cover all of its stored
//     messages: nothing else is dropped;
//   - a unit that summaries in use cover in full is dropped, with two exceptions, which
//     stay beside their summary: the messages before the first answer, which carry the
//     host's instructions, and the last prompt of the user that the plan covers, which
//     may be the newest one. Summaries are made of runs of messages, so without the exceptions the
//     whole run around these would have to stay. One that is larger than the bound of
//     [Options] stays only until there is a newer prompt.
//     The prompt stands before the summary that covers it and the work on it, so that
//     it does not read like a new one;
//   - a unit that summaries in use cover in part stays. A summary may end inside an
//     answer, and only whole messages can be dropped.
//
// So the sources of the summaries in use are the messages that are dropped and, beside
// these, the two exceptions and the units at the ends of summaries.
//
// A summary is not used if one of its messages is missing from the end of the request
// (after a rewind that the record has not read yet), if its text was erased or is damaged, or if it covers a unit that has to stay
// for another reason. Then the summaries beneath it are used, as far as they can be.
//
// # What a host has cut off
//
// Some hosts hand on only the newest messages. Where a caller says so ([Options.Cut]), what the record has
// before the first of them stands in front, also below the budget: the summaries, used or not, and the
// messages that have none as texts, the newest of them if there is no room for all. [Laid.Lost] counts what
// nothing stands for. The messages before the first answer are then no instructions, and need not stay.
//
// # Further promises
//
//   - The newest prompt, the last message and messages with parts of an unknown kind
//     stay, and so does an answer with a part that the record lacks.
//   - Texts of a dropped user message that the record lacks (a host's reminders) are
//     said again in its place, and so is the result of a call that has none in the record.
//   - Messages of the role system stay, or are said again as reminders where the
//     messages after them are dropped.
//   - A message that stays is not changed.
//   - For one plan, the result for the beginning of a history does not depend on how it
//     goes on, so that the provider's cache keeps working.
//
// The caller decides when a plan is made and when it is shown.
package overlay
