package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/record"
)

// weights say how much a name counts in a note. In the calls and outputs of a message it counts once,
// in the footer of a source twice.
var weights = map[notes.Kind]int{
	notes.User: 8, notes.Assistant: 4, notes.Plan: 4, notes.Commit: 4, notes.Failed: 4, notes.Files: 3, notes.Host: 2, notes.Edit: 2, notes.Ran: 1, notes.Saw: 1,
}

// cues are what a footer may name, the best first.
type cues struct {
	rules []string // standing instructions of the user
	names []string // files, identifiers, numbers
	words []string // long words, for sources without names
	// The numbers of the first message and of the last one.
	from, to int64
}

// cuesOf returns what the sources name. lines are their notes.
func cuesOf(sources []Source, lines []notes.Line) *cues {
	c := &cues{}
	counts := map[string]int{}
	add := func(text string, weight int, said bool) {
		seen := map[string]bool{}
		for w := range strings.FieldsFuncSeq(text, between) {
			if seen[w] {
				continue
			}
			seen[w] = true
			name, ok := named(w)
			if name == "" || !said && (!ok || unicode.IsDigit(rune(name[0]))) { // output is full of numbers and of words
				continue
			}
			if counts[name] == 0 && ok {
				c.names = append(c.names, name)
			} else if counts[name] == 0 {
				c.words = append(c.words, name)
			}
			counts[name] += weight
		}
	}
	for i := range sources {
		s := &sources[i]
		c.from, c.to = cmp.Or(c.from, s.Seq), max(c.to, s.Seq)
		if s.Kind != "" {
			_, end, _ := strings.Cut(s.Text[strings.LastIndexByte(s.Text, '\n')+1:], Footer)
			end, over, _ := strings.Cut(end, exactWords)
			_, over, _ = strings.Cut(over, "–#")
			last, _ := strconv.ParseInt(over, 10, 64) // 0 where there is none
			c.to = max(c.to, last)
			c.rules = append(c.rules, quotedRule().FindAllString(end, -1)...)
			add(quotedRule().ReplaceAllString(end, ""), 2, true)
		} else if s.Flags&(record.FlagEcho|record.FlagSynthetic) == 0 {
			add(unescaped.Replace(argument().ReplaceAllString(s.Text, "")), 1, false)
		}
	}
	for _, l := range lines {
		c.to = max(c.to, l.Seq)
		add(l.Text, weights[l.Kind], l.Kind != notes.Ran && l.Kind != notes.Saw && l.Kind != notes.Edit)
		if l.Kind == notes.User {
			for _, rule := range notes.Rules(l.Text) {
				c.rules = append(c.rules, fmt.Sprintf("“%s” (#%d)", notes.Clip(rule, 2*maxName), l.Seq))
			}
		}
	}
	c.rules = slices.DeleteFunc(c.rules, notes.ReadsAsOrder)
	best := func(a, b string) int { return cmp.Compare(counts[b], counts[a]) }
	slices.SortStableFunc(c.names, best)
	slices.SortStableFunc(c.words, best)
	return c
}

var (
	// argument matches the name of an argument, which says nothing.
	argument   = lazyregexp.New(`"\w+":`)
	unescaped  = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r")
	quotedRule = lazyregexp.New(`“[^”]+” \(#\d+\)`)
)

// between reports whether a rune stands between names.
func between(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./:@#-`", r)
}

var (
	// nameForm matches a quoted word, a path, an identifier, a version, an option, a number.
	nameForm = lazyregexp.New("^(?:`[^`]{3,}`" + `|.*(?:\p{Ll}\p{Lu}|\p{L}.*\d|\d.*\p{L}|\w_\w|/.+/|@.+\.\w).*|[\w./-]*[\w-]{2,}\.[a-z]{1,5}(?::\d+)*|--\w[\w-]+|#?\d{3,}(?:[.:]\d+)*)$`)
	// noName matches measures, times, fields with their values and long hashes.
	noName = lazyregexp.New(`^(?:\d+(?:ms|s|m|h|kB|KB|MB|GB|st|nd|rd|th|x)|[\d.:-]+T[\d.:]+Z?|.*\.{2,}.*|.*\p{L}:[^/]*\p{L}.*|[0-9a-f]{33,})$`)
)

// minName and maxName bound what a footer names, in bytes. Of a longer path the last two elements
// are named.
const minName, maxName = 4, 40

// named returns a word as a footer names it, and whether it is a name; "" if it says nothing.
func named(word string) (string, bool) {
	word = cmp.Or(strings.TrimFunc(word, func(r rune) bool { return r >= 0x2e80 }), word) // a name among Chinese or Japanese
	word = strings.TrimRight(strings.TrimLeft(word, ",:"), ".,:-/")
	quoted := strings.Trim(word, "`")
	if len(quoted) < minName || noName().MatchString(quoted) {
		return "", false
	}
	if elements := strings.Split(quoted, "/"); len(quoted) > maxName && len(elements) > 2 {
		quoted = strings.Join(elements[len(elements)-2:], "/")
	}
	isName := len(word) <= 4*maxName && nameForm().MatchString(word)
	if len(quoted) > maxName || !isName && len(quoted) < 2*minName {
		return "", false
	}
	return quoted, isName
}
