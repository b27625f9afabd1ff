// Package cache measures the cost of a session's input at a provider that caches
// the beginning of prompts.
//
// It replays a session request by request against a simulated provider
// ([Provider]) and adds up the input, in units of one uncached token: a token
// that is read from the cache costs 0.1, a token that is written to it 1.25 with a
// lifetime of five minutes and 2 with one of an hour. Output is not counted, as
// it is the same for all.
//
// Four ways to fill the context are compared: the plain history, until it no
// longer fits the window; the host's own compaction, which replaces the history by
// a summary when the window is almost full; lcm without a low threshold, which
// folds a little in every turn; and lcm as it is by default.
package cache
