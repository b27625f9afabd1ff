// Package variants lists the other ways in which a word may be written: without
// its article or vowel marks, or with a typing mistake.
//
// A search uses it for words that its record does not have. The package knows words
// only: a caller looks up which of the variants exist.
package variants
