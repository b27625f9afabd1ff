// Package analysis turns text into the units that are indexed and searched:
// words, folded and stemmed, identifiers and their parts, pairs of runes for
// scripts without spaces, emoji, and trigrams of the case-folded text.
//
// It also has the one list of stop words ([IsStopWord]), the one stemmer
// ([Stem]), the trigrams that a regular expression requires
// ([RequiredTrigrams]), and a test of a text for a phrase ([Holds]).
//
// The same text always gives the same terms: segments on disk depend on it. A
// change of a rule needs a new version of the index.
//
// The package knows neither documents nor queries.
package analysis
