// Package compact decides what of a conversation is folded into summaries and
// when, and does it.
//
// # Regimes
//
// Below the soft threshold nothing happens and no summariser is called.
// Between soft and hard a [Maintainer] compacts in the background, and what
// it folds lands between turns. At or above hard whoever asks for the context
// waits for [Runner.Run].
//
// # Deciding
//
// [Plan] is a pure function of a view, limits and a policy, and returns the
// next fold. The fresh tail is never folded, the newest user message is shown
// verbatim, a tool call is never parted from its result, and the oldest and
// shallowest come first.
//
// Compaction ends, whatever a summariser returns. Each fold replaces a run of
// items by one that costs strictly less, so that the tokens of the view, a
// whole number that cannot fall below zero, fall with each fold; a fold that
// would not shrink the view is not made, and the size from which runs are
// considered rises instead. A message that no folding can make room for is
// shown as a reference.
//
// # Writing
//
// A [Runner] reads the view, plans, loads what is to be folded, has it
// summarised and folds it. The summariser is asked for a normal summary, then
// for a short one; what is not accepted (no text, not smaller, far longer than
// asked for, an error, a time-out) is replaced by an extractive summary, and
// that, should it not be smaller either, by a line that only names what was
// folded. A refused key is the exception: nothing is written, because a good
// summary will be possible once the key is right. No transaction waits for a
// summariser; if the view moved in the meantime, the runner plans anew.
//
// A fold is written to the store while the next one is made, from a view in
// memory that has it already. Where the store is the slower, as it is without a
// model, folds that wait or come meanwhile are written in one transaction. The
// first fold's sources are read while the lease is taken. A fold that relies on a
// summary that is not written yet waits for it. One that could not be written
// takes the others of its transaction and those after it along. Of a long view a
// part is read, and more whenever the next fold might depend on it.
//
// Passes, time and calls are bounded, and the bounds are kept in the store, so
// that they survive a restart. One process compacts a conversation at a time,
// and [Runner.Alone] lets one process at a time compact in the background.
package compact
