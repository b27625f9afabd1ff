package index

import "unicode/utf8"

// textTokens analyses a text and keeps each word's unstemmed form and place.
func textTokens(text []byte) []textToken {
	var out []textToken
	eachToken(text, func(t textToken) bool {
		out = append(out, t)
		return true
	})
	return out
}

// plainWords returns the unstemmed words of a text.
func plainWords(text []byte) []string {
	var out []string
	eachToken(text, func(t textToken) bool {
		if !t.whole() {
			out = append(out, t.plain)
		}
		return true
	})
	return out
}

// eachToken walks the tokens of a text until yield returns false.
func eachToken(text []byte, yield func(textToken) bool) {
	runs := spans{text: text}
	var tokens []token
	for sp, ok := runs.next(); ok; sp, ok = runs.next() {
		tokens = analyse(tokens[:0], text, sp)
		places := tokenPlaces(text, sp)
		word := 0
		for _, t := range tokens {
			tt := textToken{token: t, start: sp.start, end: sp.end}
			if t.whole() {
				tt.plain = string(fold(t.raw))
			} else {
				at := places[min(word, len(places)-1)]
				word++
				tt.start, tt.end = at[0], at[1]
				tt.plain = plainForm(t)
			}
			if tt.plain != "" && !yield(tt) {
				return
			}
		}
	}
}

// plainForm is a word folded but not stemmed.
func plainForm(t token) string {
	if t.kind == tokenPlain {
		return string(t.raw)
	}
	return string(clip(withoutApostrophes(fold(t.raw))))
}

// tokenPlaces returns where each word of a run lies, in the order analyse gives
// them.
func tokenPlaces(text []byte, sp span) [][2]int {
	switch sp.class {
	case classEmoji:
		return [][2]int{{sp.start, sp.end}}
	case classUnspaced:
		return pairPlaces(text, sp)
	}
	var out [][2]int
	for at := sp.start; at < sp.end; {
		end := at
		for end < sp.end && (text[end] >= utf8.RuneSelf || asciiClass[text[end]] != classJoin) {
			end++
		}
		out = append(out, wordPlaces(text, at, end)...)
		at = end + 1
	}
	return out
}

func pairPlaces(text []byte, sp span) [][2]int {
	var out [][2]int
	for at := sp.start; at < sp.end; {
		_, size := utf8.DecodeRune(text[at:sp.end])
		_, size2 := utf8.DecodeRune(text[at+size : sp.end])
		out = append(out, [2]int{at, at + size + size2})
		at += size
	}
	return out
}

func wordPlaces(text []byte, start, end int) [][2]int {
	for start < end && text[start] == '_' {
		start++
	}
	for end > start && text[end-1] == '_' {
		end--
	}
	if start == end {
		return nil
	}
	parts, _ := identifierParts(nil, text[start:end])
	if len(parts) < 2 {
		return [][2]int{{start, end}}
	}
	out := make([][2]int, len(parts))
	for i, p := range parts {
		for text[start] == '_' {
			start++
		}
		out[i] = [2]int{start, start + len(p)}
		start += len(p)
	}
	return out
}
