package analysis

var (
	dateWords = WordSet(`january february march april june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday
		today tonight yesterday tomorrow ago weekend`)
	dateNear  = WordSet("last next this past previous")
	dateUnits = WordSet("night week weekend month year summer winter spring fall autumn morning evening")
)

// HasDate reports whether a text says when something was: a month, a weekday,
// a year, "yesterday", "last week", "the 7th".
func HasDate(text []byte) bool {
	const enough = 16 << 10
	text = text[:min(len(text), enough)]
	near := false
	for i := 0; i < len(text); {
		if !isAlphanumeric(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isAlphanumeric(text[i]) {
			i++
		}
		var buf [12]byte
		word := text[start:i]
		if len(word) > len(buf) || len(word) < 3 {
			near = false
			continue
		}
		for j, c := range word {
			buf[j] = asciiFold[c]
		}
		word = buf[:len(word)]
		if isDigit(word[0]) {
			if datedNumber(word) {
				return true
			}
		} else if dateWords[string(word)] || near && dateUnits[string(word)] {
			return true
		}
		near = dateNear[string(word)]
	}
	return false
}

func isAlphanumeric(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }

// datedNumber recognises 1987, 2031, 1st and 22nd.
func datedNumber(w []byte) bool {
	n := len(w)
	if suffix := string(w[n-2:]); n <= 4 && isDigit(w[n-3]) {
		switch suffix {
		case "st", "nd", "rd", "th":
			return true
		}
	}
	century := string(w[:2])
	return n == 4 && isDigit(w[2]) && isDigit(w[3]) && (century == "19" || century == "20")
}
