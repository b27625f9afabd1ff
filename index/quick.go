package index

import "unicode/utf8"

// mayHold is a quick test for a run of words: false is certain. It looks for the
// letters of the words with nothing but other characters between them, wherever
// words begin and end; text that is not ASCII it does not judge.
func mayHold(text []byte, run []string) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return true
		}
	}
	for _, w := range run {
		for i := range len(w) {
			if w[i] >= utf8.RuneSelf {
				return false
			}
		}
		if len(w) >= maxTermBytes { // was clipped: its end is not known
			return true
		}
	}
	first := run[0][0]
	for i, c := range text {
		if asciiFold[c] == first && holdsAt(text[i:], run) {
			return true
		}
	}
	return false
}

func holdsAt(text []byte, run []string) bool {
	for _, w := range run {
		text = skipOther(text)
		n, ok := matchLetters(text, w)
		if !ok {
			return false
		}
		text = text[n:]
	}
	return true
}

// skipOther skips a possessive and all that is no letter or digit.
func skipOther(text []byte) []byte {
	if len(text) > 1 && text[0] == '\'' && asciiFold[text[1]] == 's' && (len(text) == 2 || !isLower(text[2]) && !isDigit(text[2])) {
		text = text[2:]
	}
	for len(text) > 0 && !isAlphanumeric(text[0]) {
		text = text[1:]
	}
	return text
}

// matchLetters matches a word without regard to case, or to the apostrophes and
// underscores that its folded form has lost or kept.
func matchLetters(text []byte, word string) (int, bool) {
	at := 0
	for i := range len(word) {
		for at < len(text) && text[at] == '\'' {
			at++
		}
		if at == len(text) || asciiFold[text[at]] != word[i] {
			return 0, false
		}
		at++
	}
	return at, true
}
