// Package support finds the identifiers, names and numbers of an answer that occur
// nowhere in the texts that it was given for.
//
// A [Text] is told everything that was read. [Text.Check] then lists what an answer
// says beyond it. Only what can be compared without understanding counts: words with a
// digit, an inner capital or a connector, words in capitals, names, and numbers. Other
// forms of the same thing are found: eight and 8, 1,400 and 1.4k, 90 seconds and
// 1.5 minutes, 2026-02-18 and 18 February, FooBar and foo_bar. A plain word is never
// reported, since an answer may use its own words. A wrong report costs more than a
// missing one: what may be a plain word is taken for one, such as the first word of a
// sentence, or a noun of German.
//
// The package is pure.
package support
