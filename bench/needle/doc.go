// Package needle hides facts in long conversations and counts how often they
// are found again by their exact key.
//
// A haystack is a conversation of made-up work: talk, tool calls, tool output
// and large payloads, of a given size in tokens. In each, needles ("the access
// phrase of KEY is VALUE") are planted at eleven places from the first message
// to the last, in each of four lanes: text, tool arguments, tool output
// and payloads. One haystack of each size is folded so that its messages lie
// under 0, 1, 2 and 3 levels of summaries. The needles are each other's
// distractors: they differ in the key alone.
//
// Every needle is looked for by its key, as a regular expression and as a
// question in words, the way an agent would: through package recall, in the
// current conversation. Counted are the share that comes first (hit@1), the
// calls it takes until the value is in hand, and the tokens read on the way.
// There is no model and no randomness that is not seeded: the figures are the
// same on every machine, the times are not.
package needle
