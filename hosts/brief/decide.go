package brief

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

// cues are the words by which a sentence reads like something that was
// settled: a choice, a rule, a cause that was found.
var cues = []string{
	"decid", "decision", "agreed", "let's use", "let's go with", "let's keep", "we'll use", "we will use", "go with ", "going with", "chose ", "choose ",
	"instead of", "rather than", "i'd rather", "i want ", "prefer", "must ", "never ", "always ", "do not ", "don't ", "no longer", "from now on", "requirement",
	"root cause", "the cause", "turns out", "caused by", "the fix is", "revert", "keep it ", "out of scope", "it is.",
	"必须", "决定", "不要", "改用", "决策", "必ず", "決定", "使わない", "원인", "결정", "решил", "решено", "нельзя", "вместо", "entschied", "stattdessen", "décid", "plutôt que", "en lugar de",
}

// openCues are the words by which a sentence reads like something that was left
// for later.
var openCues = []string{
	"todo", "to do:", "not yet", "still open", "leave it open", "left open", "open question", "still need", "still to ", "remains", "remaining", "left to do",
	"next step", "next is ", "is next.", "next:", "follow-up", "follow up", "for later", "do it later", "tomorrow", "blocked", "blocker", "pending", "waiting for", "wait for ",
	"until ", "after the ", "not rolled out", "not done", "unfinished", "half done", "ask first", "to ask ", "on the list", "postpone", "not now",
	"尚未", "待办", "下一步", "まだ", "次は", "아직", "ещё не", "noch nicht", "als nächstes", "pas encore", "todavía no",
}

// Sentences shorter than this say too little without what stands around them,
// longer ones are no decisions but lists or code.
const (
	shortSentence = 18
	longSentence  = 400
)

// pick returns the sentences with the most cues, the newest last. What the user
// says weighs more than what the assistant says. What is known is left out.
func pick(said []store.Message, cues []string, most int, known []Quote) []Quote {
	type scored struct {
		Quote
		weight int
	}
	var all []scored
	for age, m := range slices.Backward(said) {
		role := m.Body.Role
		if role != llms.RoleUser && role != llms.RoleAssistant || role == llms.RoleUser && request(m) == "" {
			continue
		}
		for _, s := range sentences(m.Body.PlainText()) {
			w := weight(s, cues)
			if w == 0 {
				continue
			}
			if role == llms.RoleUser {
				w += 2
			}
			// Old ones fade, so that the newest of equals is kept.
			all = append(all, scored{quoteOf(m, s), w*len(said)/2 + age})
		}
	}
	slices.SortStableFunc(all, func(x, y scored) int { return y.weight - x.weight })
	var kept []Quote
	seen := map[string]bool{}
	for _, q := range known {
		for _, s := range append(sentences(q.Text), q.Text) {
			seen[s] = true
		}
	}
	for _, s := range all {
		if len(kept) == most {
			break
		}
		if !seen[s.Text] {
			seen[s.Text] = true
			kept = append(kept, s.Quote)
		}
	}
	slices.SortStableFunc(kept, func(x, y Quote) int { return int(x.ID - y.ID) })
	return kept
}

// weight counts the cues in a sentence, 0 for what is no statement.
func weight(s string, cues []string) int {
	n := utf8.RuneCountInString(s)
	if n < shortSentence || n > longSentence || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
		return 0
	}
	low, w := strings.ToLower(s), 0
	for _, c := range cues {
		if strings.Contains(low, c) {
			w++
		}
	}
	return min(w, 3)
}

// sentences splits text at the ends of lines and sentences. Code blocks are
// left out.
func sentences(text string) []string {
	var all []string
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if code || line == "" || strings.HasPrefix(line, "|") {
			continue
		}
		all = append(all, split(strings.TrimLeft(line, "-*#> \t"))...)
	}
	return all
}

// split cuts a line behind full stops that end a sentence: those before a
// space and a letter that is not small.
func split(line string) []string {
	var all []string
	from := 0
	for i, r := range line {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		rest := line[end:]
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " "))
		if r < 0x80 && (!strings.HasPrefix(rest, " ") || unicode.IsLower(next)) && rest != "" {
			continue
		}
		all = append(all, strings.TrimSpace(line[from:end]))
		from = end
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}
