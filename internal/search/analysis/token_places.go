package analysis

import "unicode/utf8"

// textTokens analyses a text and keeps each word's unstemmed form and place.
func textTokens(text []byte) []TextToken {
	var out []TextToken
	eachToken(text, func(t TextToken) bool {
		out = append(out, t)
		return true
	})
	return out
}

// PlainWords returns the unstemmed words of a text.
func PlainWords(text []byte) []string {
	var out []string
	eachToken(text, func(t TextToken) bool {
		if !t.Whole() {
			out = append(out, t.Plain)
		}
		return true
	})
	return out
}

// eachToken walks the tokens of a text until yield returns false.
func eachToken(text []byte, yield func(TextToken) bool) {
	runs := Spans{Text: text}
	var tokens []Token
	for sp, ok := runs.Next(); ok; sp, ok = runs.Next() {
		tokens = Analyse(tokens[:0], text, sp)
		places := TokenPlaces(text, sp)
		word := 0
		for _, t := range tokens {
			tt := TextToken{Token: t, start: sp.Start, end: sp.End}
			if t.Whole() {
				tt.Plain = string(fold(t.Raw))
			} else {
				at := places[min(word, len(places)-1)]
				word++
				tt.start, tt.end = at[0], at[1]
				tt.Plain = PlainForm(t)
			}
			if tt.Plain != "" && !yield(tt) {
				return
			}
		}
	}
}

// PlainForm is a word folded but not stemmed.
func PlainForm(t Token) string {
	if t.Kind == PlainToken {
		return string(t.Raw)
	}
	return string(PlainWord(make([]byte, 0, len(t.Raw)), t.Raw))
}

// TokenPlaces returns where each word of a run lies, in the order analyse gives
// them.
func TokenPlaces(text []byte, sp Span) [][2]int {
	switch sp.class {
	case classEmoji:
		return [][2]int{{sp.Start, sp.End}}
	case classUnspaced:
		return pairPlaces(text, sp)
	}
	var out [][2]int
	for at := sp.Start; at < sp.End; {
		end := at
		for end < sp.End && (text[end] >= utf8.RuneSelf || asciiClass[text[end]] != classJoin) {
			end++
		}
		out = append(out, wordPlaces(text, at, end)...)
		at = end + 1
	}
	return out
}

func pairPlaces(text []byte, sp Span) [][2]int {
	var out [][2]int
	for at := sp.Start; at < sp.End; {
		_, size := utf8.DecodeRune(text[at:sp.End])
		_, size2 := utf8.DecodeRune(text[at+size : sp.End])
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

// TextToken is a token with its word as typed (folded, not stemmed).
type TextToken struct {
	Token
	Plain      string
	start, end int
	Lone       bool // a single rune of an unspaced script, with no pair to make
}

// QueryTokens analyses a part of a query. The rune that ends a run of an
// unspaced script is indexed by itself only to be found as a beginning; it is
// asked for only when it is all there is.
func QueryTokens(s string) []TextToken {
	all := textTokens([]byte(s))
	out := all[:0]
	for i, t := range all {
		r, size := utf8.DecodeRuneInString(t.Plain)
		if t.Kind == PlainToken && size == len(t.Plain) && unspaced(r) {
			if i > 0 && t.start < all[i-1].end && t.start > all[i-1].start {
				continue
			}
			t.Lone = true
		}
		out = append(out, t)
	}
	return out
}
