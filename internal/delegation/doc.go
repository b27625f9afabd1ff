// Package delegation answers questions about the record without showing the
// record to whoever asks. [Delegation.Ask] finds what a question is about,
// hands it to a sub-agent that may open exactly that and nothing else, checks
// what the sub-agent says against what it was shown, and returns a short
// answer with verified citations.
//
// # The grant
//
// What a sub-agent may open is a value, the [Grant]: conversations, ids, how
// deep, how many tokens, until when. The sub-agent's tools (lcm_expand, and an
// lcm_grep and an lcm_describe that know nothing beyond the grant) are made by
// [Grant.Tools] and in no other way, so that no other agent can be given them.
// A grant keeps a ledger of all that it served. Counts, totals and the check on
// citations come from the ledger and never from what a model claims.
//
// # What it promises
//
// An answer rests on what was read: one that was given without reading, or
// that cites nothing of it, is asked for once more and then refused. A question
// costs a bounded number of model tokens ([Limits], [Meter]), and a sub-agent
// that calls its model three times without reading anything is ended; the
// answer says what was spent.
//
// Nothing of the record reaches the caller beyond the cap on the answer,
// quotes included. Where there is no model, or it fails, or time is up, the
// answer is made of the best verbatim passages, under the same cap, and says
// so: Ask never fails for want of a model. However a question ends (answer,
// error, time-out, cancellation, panic), its grant is revoked and its child
// session closed before Ask returns. Questions of one caller queue, each with
// a deadline of its own; a question asked from inside a question is refused.
//
// Stored text is untrusted: it is shown to the sub-agent between markers that
// it cannot forge, as data.
//
// # What is left to others
//
// Package recall finds and opens; a [Runner] runs the sub-agent (the root
// package has one on package agents). Nothing is written to the record.
package delegation
