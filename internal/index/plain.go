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

// textToken is a token with its word as typed (folded, not stemmed).
type textToken struct {
	token
	plain      string
	start, end int
	lone       bool // a single rune of an unspaced script, with no pair to make
}

// queryTokens analyses a part of a query. The rune that ends a run of an
// unspaced script is indexed by itself only to be found as a beginning; it is
// asked for only when it is all there is.
func queryTokens(s string) []textToken {
	all := textTokens([]byte(s))
	out := all[:0]
	for i, t := range all {
		r, size := utf8.DecodeRuneInString(t.plain)
		if t.kind == tokenPlain && size == len(t.plain) && unspaced(r) {
			if i > 0 && t.start < all[i-1].end && t.start > all[i-1].start {
				continue
			}
			t.lone = true
		}
		out = append(out, t)
	}
	return out
}
