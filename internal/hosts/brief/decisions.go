package brief

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/hosts/internal/shortanswer"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// cues are words that mark a sentence as a decision: a choice or a rule.
var cues = newPhrases(
	"decid", "decision", "agreed", "let's use", "let's go with", "let's keep", "we'll use", "we will use", "go with ", "going with", "chose ", "choose ",
	"instead of", "rather than", "i'd rather", "i want ", "prefer", "must ", "never ", "always ", "do not ", "don't ", "no longer", "from now on", "requirement",
	"the fix is", "revert", "keep it ", "out of scope", "it is.",
	"必须", "决定", "不要", "改用", "决策", "必ず", "決定", "使わない", "결정", "решил", "решено", "нельзя", "вместо", "entschied", "stattdessen", "décid", "plutôt que", "en lugar de",
)

// Sentences with such words that decide nothing: reports of a failure, headings, and open
// decisions. An assistant also uses such words to explain, so it must name a choice.
var (
	report = lazyregexp.New(`(?i)\b(?:fails?|failed|failing|flaky|crash\w*|hangs?|times? out|breaks|broken)\b`)
	chosen = newPhrases("decided", "decision:", "agreed", "go with", "going with", "chose", "let's", "we'll use", "we'll keep", "we will use", "we will keep",
		"from now on", "no longer", "the fix is", "out of scope", "决定", "決定", "결정", "решил", "решено", "entschied", "décidé")
	undecided = lazyregexp.New(`(?i)^(?:the )?root cause\b|^(?:open|todo|to do|next|follow-up|question)s?\b ?:|(?:\bnot?|n't|\bto|\blet's|\bneeds? an?|\bcan|\bcannot) (?:yet )?(?:decid|decision)|\bundecided\b`)
)

// openCues are words that mark a sentence as an open point.
var openCues = newPhrases(
	"todo:", "a todo", "to do:", "open:", "not yet", "still open", "leave it open", "left open", "open question", "still need", "still to ", "remains to ", "remains open", "remaining:", "left to do",
	"next step", "next is ", "is next.", "next:", "follow-up", "follow up", "for later", "do it later", "tomorrow", "blocked", "blocker", "pending", "waiting for", "wait for ",
	"wait until ", "not until ", "blocked until ", "off until ", "open until ", "not rolled out", "not done", "unfinished", "half done", "ask first", "to ask ", "on the list", "postpone", "not now",
	"尚未", "待办", "下一步", "まだ", "次は", "아직", "ещё не", "noch nicht", "als nächstes", "pas encore", "todavía no",
)

// Shorter sentences say too little without context; longer ones are lists or code.
const (
	shortSentence = 18
	longSentence  = 400
)

// decisions picks sentences that read like decisions, and short answers to offers.
func decisions(said []store.Message, known []Quote) []Quote {
	answers := choices(said)
	all := pick(said, cues, func(who llms.Role, s string) bool {
		names := who != llms.RoleAssistant && !report().MatchString(s) || chosen.asWord(s)
		return names && !undecided().MatchString(s)
	}, keepDecisions-len(answers), append(slices.Clone(known), answers...))
	all = append(all, answers...)
	slices.SortStableFunc(all, func(x, y Quote) int { return int(x.ID - y.ID) })
	return all
}

// keepChoices bounds how many choices are listed.
const keepChoices = 4

// plainChoice matches an answer that is a choice without a question before it.
var plainChoice = lazyregexp.New(`(?i)\b(?:it is|then)[.!]*$`)

// choices returns the user's last short answers to the assistant's questions.
func choices(said []store.Message) []Quote {
	var all []Quote
	asked := ""
	for _, m := range said {
		if text := strings.TrimSpace(m.Body.PlainText()); m.Body.Role == llms.RoleAssistant && text != "" {
			asked = question(text)
		}
		text := request(m)
		if text == "" {
			continue
		}
		if shortanswer.Is(text) && (asked != "" || plainChoice().MatchString(text)) {
			q := quoteOf(m, text)
			q.Asked = asked
			all = append(all, q)
		}
		asked = ""
	}
	return all[max(0, len(all)-keepChoices):]
}

// question returns the last sentence of a text if it is a question.
func question(text string) string {
	all := prose.Sentences(text)
	if len(all) == 0 || !strings.HasSuffix(all[len(all)-1], "?") {
		return ""
	}
	return all[len(all)-1]
}

// openEnds picks sentences that read like open points, without answered questions.
func openEnds(said []store.Message) []Quote {
	var left []store.Message
	answer := ""
	for _, m := range slices.Backward(said) {
		switch text := strings.TrimSpace(m.Body.PlainText()); {
		case request(m) != "":
			answer = text
		case m.Body.Role == llms.RoleAssistant && text != "":
			if answer != "" && (question(text) != "" || shortanswer.Is(answer)) {
				continue
			}
			answer = ""
		}
		left = append(left, m)
	}
	slices.Reverse(left)
	return pick(left, openCues, func(llms.Role, string) bool { return true }, keepOpen, nil)
}

// pick returns the accepted sentences with the most cues that are not in known, the newest
// last. The user's sentences weigh more than the assistant's.
func pick(said []store.Message, cues *phrases, accept func(llms.Role, string) bool, most int, known []Quote) []Quote {
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
		// Most messages have no cue, and are not split.
		text := m.Body.PlainText()
		if cues.count(text, 1) == 0 {
			continue
		}
		for _, s := range prose.Sentences(text) {
			w := weight(s, cues)
			if w == 0 || !accept(role, s) {
				continue
			}
			if role == llms.RoleUser {
				w += 2
			}
			// Age breaks ties: the newest of equals is kept.
			all = append(all, scored{quoteOf(m, s), w*len(said)/2 + age})
		}
	}
	slices.SortStableFunc(all, func(x, y scored) int { return y.weight - x.weight })
	var kept []Quote
	seen := map[string]bool{}
	for _, q := range known {
		for _, s := range append(prose.Sentences(q.Text), q.Text) {
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

// weight counts the cues in a sentence; 0 if it is not a statement.
func weight(s string, cues *phrases) int {
	n := utf8.RuneCountInString(s)
	if n < shortSentence || n > longSentence || strings.HasSuffix(s, "?") || strings.HasSuffix(s, ":") {
		return 0
	}
	return cues.count(s, 3)
}
