// Package compact decides which messages of a conversation are folded into
// summaries and when, and folds them.
//
// # Regimes
//
// Below the soft threshold nothing happens and no summariser is called.
// Between soft and hard a [Maintainer] compacts in the background, and the
// next context shows the result. At or above hard the caller that asks for the
// context starts [Runner.Run] itself and may wait for it.
//
// A run goes on to the low threshold, [Limits.Low]. Then the beginning of the
// view stays the same until the view has grown to the soft threshold again,
// because a provider caches the beginning of prompts and writing the cache costs
// twelve times as much as reading it. For the same reason a run writes its folds
// together, and a run in the background that could fold only little waits for the
// hard threshold.
//
// # Deciding
//
// [Plan] is a pure function of a view, limits and a policy, and returns the
// next fold. The fresh tail is never folded, the newest user message is shown
// verbatim, a tool call stays with its result, and the oldest and shallowest
// items come first.
//
// Compaction ends for every summariser. Each fold replaces a run of
// items by one that costs strictly less, so the tokens of the view fall with each
// fold. A fold that would not shrink the view is not made; later plans consider
// only larger runs. A message that no folding can make room for is
// shown as a reference.
//
// # Writing
//
// A [Runner] repeats three steps: it plans on the view in memory, loads the
// sources of the next fold and has them summarised. It writes the summaries of up
// to MaxPasses folds in one transaction; without a low threshold, each in a
// transaction of its own. A crash at any point leaves a valid view, and the next
// run continues from there. Of a long view the runner reads a part, and more
// whenever the next fold might depend on it, so the cost of compaction is linear
// in the number of messages.
//
// The summariser is asked for a normal summary, then for a short one. A text that
// is not accepted (empty, not smaller, far longer than asked for, an error, a
// time-out) is replaced by an extractive summary, and that, if it is not smaller
// either, by a line that only counts the folded messages. A refused key is the
// exception: nothing is written, because a good summary is possible once the key
// is right. No transaction waits for a summariser; if another process has changed
// the view meanwhile, the runner reads it again and plans anew.
//
// Passes, time and calls are bounded, and the store keeps the bounds, so that
// they survive a restart. One process at a time compacts a conversation, and
// [Runner.Alone] lets one process at a time compact in the background.
package compact
