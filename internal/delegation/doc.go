// Package delegation answers questions about the record without showing the raw
// record to the caller. [Service.Ask] finds the messages and summaries that match a
// question, gives a sub-agent access to exactly these, checks its answer against
// the texts it has read, and returns a short answer with verified citations.
//
// # The grant
//
// A [Grant] says what a sub-agent may open: conversations, ids, depth, tokens and
// an expiry. The sub-agent's tools (lcm_expand, and an
// lcm_grep and an lcm_describe that know nothing beyond the grant) are made by
// [Grant.Tools] and in no other way, so that no other agent can be given them.
// A grant records every text that it served. Counts, totals and the check of
// citations use this record and never the claims of a model.
//
// # Guarantees
//
// An answer rests on texts that the sub-agent has read. An answer without reading,
// or without a citation of a text that was read, is asked for once more and then
// refused. A question
// costs a bounded number of model tokens ([Limits], [Meter]), and a sub-agent
// that calls its model three times without reading anything is ended. The
// answer has the cost.
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
// # Other packages
//
// Package recall finds and opens; a [Runner] runs the sub-agent (the root
// package has one on package agents). Nothing is written to the record.
package delegation
