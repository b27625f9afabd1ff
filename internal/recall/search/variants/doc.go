// Package variants lists the other ways in which a word may be written: without
// its article or vowel marks, with ae for ä, in the other Chinese script, in
// another form of the same word, or with a typing mistake.
//
// A search uses it for words that its record does not have. The package knows
// words only: a caller looks up which of the variants exist.
//
// Inflected forms are recognised by the Snowball stemmers; see [Language].
package variants
