package index

import "regexp"

// dated finds words that place something in time: months, weekdays, years,
// "yesterday", "two weeks ago".
var dated = regexp.MustCompile(`(?i)\b(?:` +
	`january|february|march|april|june|july|august|september|october|november|december|` +
	`(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|yesterday|tomorrow|ago|` +
	`(?:last|next|this|past|previous) (?:night|week|weekend|month|year|summer|winter|spring|fall|autumn|morning|evening)|` +
	`weekend|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|\d{1,2}:\d\d)\b`)

// hasDate reports whether a text says when something was.
func hasDate(text []byte) bool {
	const enough = 16 << 10
	return dated.Match(text[:min(len(text), enough)])
}
