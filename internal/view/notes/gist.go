package notes

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

var (
	// layout matches headings and rows of tables, and the mark of code that was left out.
	layout = lazyregexp.New(`^\s*(?:#|\||…|-{3})`)
	// nested matches an item of an item.
	nested = lazyregexp.New(`^\s+(?:[-*+•]|\d+[.)]) `)
	// announces matches a sentence that says nothing by itself: "Done!", "Here is what I did:".
	announces = lazyregexp.New(`(?i)^\W*(?:\pL+\W*[.!]+|(?:great|good|excellent|all) \pL+[.!]+|(?:here|let me|now let me|below|summary)\b.*:\W*)$`)
)

// Gist shortens an answer to n characters. Code, tables, headings and sentences that only
// announce something go first, then items of items, the ends of long sentences, and at last
// what stands before the last sentence. It does not end with what introduces something.
func Gist(text string, n int) string {
	var all, outer []string
	for line := range strings.Lines(fenced(text, 0)) {
		inner := nested().MatchString(line)
		if layout().MatchString(line) || inner {
			outer = closed(outer, inner)
		}
		if layout().MatchString(line) {
			all = closed(all, false)
			continue
		}
		kept, _ := clean(line[bulletLen(line):], false)
		for s := range sentences(strings.ReplaceAll(kept, "**", "")) {
			if announces().MatchString(s) {
				continue
			}
			all = append(all, s)
			if !inner {
				outer = append(outer, s)
			}
		}
	}
	short := joined(all)
	if utf8.RuneCountInString(short) > n {
		short = fit(outer, n)
		if utf8.RuneCountInString(short) < n/2 {
			short = fit(all, n)
		}
	}
	if short == "" {
		short, _ = clean(text, false)
	}
	return Clip(short, n)
}

// closed ends sentences of which the last one introduces what does not follow: one of many
// words tells something by itself.
func closed(all []string, keep bool) []string {
	const many = 8
	last := len(all) - 1
	if last < 0 || !strings.HasSuffix(all[last], ":") {
		return all
	}
	if keep || len(strings.Fields(all[last])) > many {
		return append(all[:last:last], strings.TrimSuffix(all[last], ":"))
	}
	return closed(all[:last], false)
}

// joined joins sentences and items.
func joined(all []string) string {
	var b strings.Builder
	for _, s := range closed(all, false) {
		if end, _ := utf8.DecodeLastRuneInString(b.String()); b.Len() > 0 && !strings.ContainsRune(".:;!?…", end) {
			b.WriteByte(';')
		}
		b.WriteString(" " + s)
	}
	return strings.TrimSpace(b.String())
}

// fit returns the beginning of what sentences say, and the last one if it is short.
func fit(all []string, n int) string {
	const long = 100 // characters of a sentence after the first
	if short := joined(all); utf8.RuneCountInString(short) <= n {
		return short
	}
	last := len(all) - 1
	end := all[last]
	if strings.HasSuffix(end, "?") {
		end = strings.TrimPrefix(ClipEnd(end, n/2), "… ")
	}
	if last > 0 && strings.HasSuffix(all[last-1], ":") { // "Removed:" says what the last item is
		end = all[last-1] + " " + end
	}
	if utf8.RuneCountInString(end) > n/2 || last == 0 || strings.HasSuffix(end, ":") {
		end = ""
	}
	var kept []string
	room := n - utf8.RuneCountInString(end) - len(" … ")
	for i, s := range all {
		r := []rune(s)
		most := room
		if i > 0 {
			most = min(room, long)
		}
		if len(r) > most {
			s = atWord(string(r[:most]), false) + "…"
		}
		kept = append(kept, s)
		if room -= min(len(r), most) + 2; room < long/4 {
			break
		}
	}
	head := strings.TrimSuffix(joined(kept), "…")
	if head == "" {
		head = strings.TrimSuffix(kept[0], ":")
	}
	return strings.TrimSpace(head + " … " + end)
}

// longQuestion is how many characters of a text are shown with the answer to the question
// at its end: "Want me to do that?" alone says nothing.
const longQuestion = 160

var (
	option = lazyregexp.New(`(?mi)^\W*(?:option )?([1-9])[.):]\W.+`)
	choice = lazyregexp.New(`(?:^|[\s#(+])([1-9])(?:[.,;:)+]|\s|$)`)
)

// Chosen returns the options of a question that an answer names, or the end of the
// question.
func Chosen(question, answer string) string {
	last := map[string]string{}
	for _, m := range option().FindAllStringSubmatch(question, -1) {
		last[m[1]] = m[0]
	}
	var all []string
	for _, m := range choice().FindAllStringSubmatch(answer, -1) {
		if o := last[m[1]]; o != "" {
			all = append(all, Gist(o, longQuestion))
		}
	}
	if len(all) > 0 {
		return strings.Join(all, " ")
	}
	if len(last) > 0 { // the answer names what it chooses
		lines := slices.Collect(strings.Lines(strings.TrimSpace(question)))
		question = lines[len(lines)-1]
	}
	return ClipEnd(Gist(question, len(question)), longQuestion)
}
