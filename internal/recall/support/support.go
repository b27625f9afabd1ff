package support

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/search/analysis"
	"github.com/lossless-context/lcm/internal/search/dates"
)

// Text collects what was read. The zero value is ready to use.
type Text struct {
	run     strings.Builder // the words, folded, each after a space
	words   map[string]bool
	numbers []number
	stems   []map[string]bool // of each text
	forms   map[string]bool   // versions, addresses and times of day, and how they begin
	dates   map[int]bool      // years and days; months are negative
}

// number is a number of a text.
type number struct {
	quantity
	value float64
	text  int
}

// Add adds a text.
func (t *Text) Add(text string) {
	if t.words == nil {
		t.words, t.forms, t.dates = map[string]bool{}, map[string]bool{}, map[int]bool{}
	}
	words := analysis.PlainWords([]byte(text))
	for _, w := range words {
		t.words[w] = true
		t.run.WriteString(" " + w)
	}
	t.stems = append(t.stems, stems(words, func(string) bool { return false }))
	all := split(text)
	for i := 0; i < len(all); {
		for _, part := range dateParts(all[i].text) {
			t.dates[part] = true
		}
		q, n := quantityAt(all, i)
		t.learn(q)
		i += max(n, 1)
	}
}

// stems returns the stems of words, without short ones and those to leave out.
func stems(words []string, without func(word string) bool) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		if len(w) > 2 && !strings.ContainsFunc(w, unicode.IsDigit) && !without(w) {
			set[analysis.LightStem(w)] = true
		}
	}
	return set
}

// Check returns what an answer says that was not read and is not in the question, in the
// order of the answer, and how many things of it were read.
func (t *Text) Check(answer, question string) (missing []string, held int) {
	var asked Text
	asked.Add(question)
	all := split(answer)
	german := isGerman(answer) || isGerman(question)
	words := analysis.PlainWords([]byte(answer + " " + question))
	stop, _ := analysis.StopWords(words)
	about := stems(words, stop)
	for i := 0; i < len(all); {
		c, n := claimAt(all, i, german)
		i += max(n, 1)
		switch {
		case c.shown == "" || asked.has(c, about):
		case t.has(c, about):
			held++
		case !slices.Contains(missing, c.shown):
			missing = append(missing, c.shown)
		}
	}
	return missing, held
}

// claim is a thing in an answer that must have been read: one of a number, a date, an
// identifier and a name.
type claim struct {
	shown    string
	number   quantity
	date     []int
	id, name string
}

// has reports whether a claim occurs in the text, in some form.
func (t *Text) has(c claim, about map[string]bool) bool {
	switch {
	case c.date != nil:
		return !slices.ContainsFunc(c.date, func(part int) bool {
			return !t.dates[part] && !t.hasNumber(quantity{values: []float64{float64(part)}}, nil)
		})
	case c.id != "":
		return t.hasIdentifier(c.id)
	case c.name != "":
		return t.hasName(c.name)
	}
	return t.hasNumber(c.number, about)
}

// hasIdentifier looks for the words of an identifier in a row, whatever joins them.
func (t *Text) hasIdentifier(id string) bool {
	words := strings.Join(analysis.PlainWords([]byte(id)), " ")
	run := t.run.String() + " "
	squeezed := strings.ReplaceAll(words, " ", "")
	return strings.Contains(run, " "+words+" ") || strings.Contains(run, " "+strings.TrimSuffix(words, "s")+" ") ||
		len(squeezed) >= 6 && strings.Contains(strings.ReplaceAll(run, " ", ""), squeezed)
}

// hasName looks for a word, with or without an ending, or at the start of a longer one.
func (t *Text) hasName(name string) bool {
	n := len(name)
	return t.words[name] || n >= 4 && strings.Contains(t.run.String(), " "+name) || n > 4 && t.words[name[:n-1]] || n > 5 && t.words[name[:n-2]]
}

// token is a word, a number or an identifier, with what stands before it.
type token struct{ gap, text string }

func (t token) folded() string { return string(analysis.PlainWord(nil, []byte(t.text))) }

func (t token) capital() bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return unicode.IsUpper(r)
}

var (
	// tokens finds times, and words that connectors join; a number may also have separators.
	tokens = lazyregexp.New(`\d{4}-\d\d-\d\d|\d\d?:\d\d(?::\d\d)?\b|[%零一二三四五六七八九十]|` +
		`(?:\d+(?:[.,'’\x{a0}\x{202f}]\d+)+|[\p{Latin}\p{Greek}\p{Cyrillic}\d_]+)(?:[-./@]+[\p{Latin}\p{Greek}\p{Cyrillic}\d_]+)*`)
	// leading finds a number before a unit, a word or another number.
	leading = lazyregexp.New(`^(\d+(?:[.,'’\x{a0}\x{202f}]\d+)*)([-/]|(?:[kKMxsShdwmg]|st|nd|rd|th|ms|min|[kKMGT]i?[bB]|[mck]m|kg)$)`)
)

// split returns the tokens of a text. A number is cut off from a unit or another number.
func split(text string) (all []token) {
	end := 0
	for _, at := range tokens().FindAllStringIndex(text, -1) {
		gap, word := text[end:at[0]], text[at[0]:at[1]]
		for end = at[1]; dateParts(word) == nil; {
			m := leading().FindStringSubmatch(word)
			if first, _, ok := strings.Cut(word, "-"); ok && m == nil {
				if _, ok = wordValue((token{text: first}).folded()); ok { // thirty-one
					m = []string{"", first, "-"}
				}
			}
			if m == nil {
				break
			}
			all = append(all, token{gap, m[1]})
			gap = strings.Trim(m[2], "kKMxsShdwmgtnribBTGc")
			word = word[len(m[1])+len(gap):]
		}
		all = append(all, token{gap, word})
	}
	return all
}

// startsSentence reports whether a token has its capital from its place.
func startsSentence(all []token, i int) bool {
	return i == 0 || strings.ContainsAny(all[i].gap, ".!?:…\n|>*\"“„«")
}

// claimAt reads the claim at a token, if it is one, and how many tokens it has.
func claimAt(all []token, i int, german bool) (claim, int) {
	tok := all[i]
	if q, n := quantityAt(all, i); n > 0 {
		c := claim{number: q}
		if q.counts() && !listMark(all, i) {
			c.shown = q.shown
		}
		if inDate(all, i, q) {
			c.date = []int{int(q.values[0])}
		}
		return c, n
	}
	if isIdentifier(tok) {
		return claim{shown: tok.text, id: tok.text}, 1
	}
	for part := range strings.FieldsFuncSeq(tok.text, func(r rune) bool { return r == '-' || r == '/' }) { // SPI-Bus
		name := strings.TrimSuffix(part, "s")
		if folded := (token{text: name}).folded(); acronyms().MatchString(name) && !(len(name) > 4 && analysis.IsCommon(folded)) && !analysis.IsStopWord(folded) && vocabulary()[folded].kind != plain {
			return claim{shown: part, name: folded}, 1
		}
	}
	name, parts := tok.folded(), dateParts(tok.text)
	switch _, named := dates.Name(strings.TrimSuffix(tok.text, "s")); {
	case len(parts) > 1:
		return claim{shown: tok.text, date: parts}, 1
	case !tok.capital() || analysis.IsCommon(name) || strings.ContainsAny(tok.text, "-/"):
	case startsSentence(all, i) || len(tok.text) < 3 || german && !apposed(all, i):
	case parts != nil:
		return claim{shown: tok.text, date: parts}, 1
	case !named:
		return claim{shown: tok.text, name: name}, 1
	}
	return claim{}, 1
}

// apposed reports a German noun that names the one before it, as in die Firma Petersen.
// Other nouns may be plain words, since all have a capital.
func apposed(all []token, i int) bool {
	if i < 2 || all[i].gap != " " || !all[i-1].capital() || startsSentence(all, i-1) {
		return false
	}
	_, n := quantityAt(all, i-2)
	return n == 0 // not 3 Liter Wasser
}

// isIdentifier reports a word that is written as a program writes names: with a digit, a
// connector, an inner capital or a sign before it. Abbreviations such as z.B. are none.
func isIdentifier(t token) bool {
	return identifiers().MatchString(t.text) || len(t.text) > 2 && marks().MatchString(t.gap)
}

var (
	identifiers = lazyregexp.New(`\d.*[\pL.-/_]|\pL.*\d|\pL_|@|\pL{3,}\.\pL|\pL\.\pL{3,}|/.*/|^[^-/]*\p{Ll}\p{Lu}|^\p{Lu}{2,}\p{Ll}{2,}`)
	acronyms    = lazyregexp.New(`^\p{Lu}{2,}$`)
	marks       = lazyregexp.New("(?:--|[#@$`])$")
)

// isGerman reports whether a text has the function words of German.
func isGerman(text string) bool {
	_, german := analysis.StopWords(analysis.PlainWords([]byte(text)))
	return german
}

// listMark reports the number of an item in a list.
func listMark(all []token, i int) bool {
	return (i == 0 || strings.Contains(all[i].gap, "\n")) && i+1 < len(all) && (strings.HasPrefix(all[i+1].gap, ". ") || strings.HasPrefix(all[i+1].gap, ") "))
}
