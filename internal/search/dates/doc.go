// Package dates finds the times that a question names: "in August 2023", "last
// Tuesday", "between 3 and 5 May", "two weeks before 2024-02-01".
//
// A message often holds no date. The time when it was written is the only trace
// of it, and a search by words cannot find that. [Find] reads the spans of time
// in a question, [Within] tells how well a message's time fits them.
//
// Dates are read in English: words.go has the words. A date that is not understood gives
// no span, so that the search by words stands as it is. The package is pure: the time of the question is
// passed in.
package dates
