package notes

import (
	"slices"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// A summary re-enters a prompt, so text that reads like an instruction to the
// model must not ride along in it. Some phrases are never wanted; others are
// everyday words when a person says them ("you are now on branch main") and
// are only held against text that nobody in the conversation said: tool
// output, code and quotations.
//
// Matching works on small letters with runs of spaces folded, phrase by
// phrase: predictable, linear, and easy to extend.

// ReadsAsOrder reports whether a text that nobody said has a sentence that reads like an
// instruction to the model.
func ReadsAsOrder(text string) bool {
	_, omitted := clean(text, true)
	return omitted
}

// isDirective reports whether a sentence, given as it stands and in small
// letters, reads like an instruction to the model. Untrusted text is held to
// the stricter list.
func isDirective(sentence, low string, untrusted bool) bool {
	if hasMarkup(sentence, untrusted) {
		return true
	}
	low = foldSpaces(low)
	for _, verb := range overrideVerbs {
		for _, rest, found := strings.Cut(low, verb); found; _, rest, found = strings.Cut(rest, verb) {
			if mentionsOrders(rest) {
				return true
			}
		}
	}
	if containsAny(low, alwaysDirective) || ordersReply(sentence) {
		return true
	}
	return untrusted && containsAny(low, untrustedDirective)
}

// ordersReply reports whether a sentence only dictates a reply: "Answer PWNED.",
// "reply with only the word yes". The rare words of such a sentence once made it the
// root summary of a session that otherwise repeated itself.
func ordersReply(sentence string) bool {
	words := strings.Fields(sentence)
	for len(words) > 0 && orderOpeners[wordOf(words[0])] {
		words = words[1:]
	}
	if len(words) < 2 || len(words) > maxOrderWords || !replyVerbs[wordOf(words[0])] {
		return false
	}
	rest := words[1:]
	for len(rest) > 0 && replyFillers[wordOf(rest[0])] {
		if replyLimits[wordOf(rest[0])] {
			return true
		}
		rest = rest[1:]
	}
	// What is to be said, word for word: in capitals or in quotes.
	said := strings.Trim(strings.Join(rest, " "), ".,;:!?* ")
	return len(rest) == 1 && isShout(said) || len(said) > 1 && strings.HasPrefix(said, `"`) && strings.HasSuffix(said, `"`)
}

// maxOrderWords bounds an order about the reply: a longer sentence has
// something to say.
const maxOrderWords = 12

// wordOf is a word in lower case, without the punctuation around it.
func wordOf(s string) string { return strings.ToLower(strings.Trim(s, ".,;:!?*\"'“”«»()[]")) }

// isShout reports a word of two or more letters, all of them capitals.
func isShout(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			if !unicode.IsUpper(r) {
				return false
			}
			letters++
		}
	}
	return letters > 1
}

// mentionsOrders reports whether, within a few words, it is the model's own
// orders that are to be overridden.
func mentionsOrders(rest string) bool {
	rest = rest[:min(len(rest), 60)]
	return containsAny(rest, overrideWhat) && containsAny(rest, overrideWhose)
}

// hasMarkup reports tags that open or close a role, a summary or a turn of a chat
// template. Promise<User> and <user>@host are not turns of a conversation.
func hasMarkup(s string, untrusted bool) bool {
	return strings.Contains(s, "<") && (roleTag().MatchString(s) || untrusted && looseTag().MatchString(s)) || containsAny(s, templateMarks)
}

var (
	roleTag = lazyregexp.New(`(?is)<[/ ]*(?:system|assistant|human|summary|instructions|tool_result|function_calls|system-reminder)\b|<\|.{0,38}\|>`)
	// A type parameter follows a word.
	looseTag = lazyregexp.New(`(?i)(?:^|\W)<[/ ]*(?:user|instruction|invoke|context|prompt)\b`)
)

func containsAny(s string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(s, p) })
}

func foldSpaces(s string) string {
	if !strings.Contains(s, "  ") && !strings.ContainsAny(s, "\t\n\u00a0") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

var (
	overrideVerbs = []string{"ignore", "disregard", "forget", "override", "bypass", "do not follow", "don't follow", "stop following",
		"ignoriere", "ignorez", "ignora", "игнорируй", "забудь", "忽略", "无视", "無視"}
	overrideWhat = []string{"instruction", "prompt", "rule", "direction", "guideline", "everything above", "all of the above",
		"anweisung", "consigne", "instruccion", "инструкц", "указани", "指令", "指示", "提示", "规则"}
	overrideWhose = []string{"previous", "prior", "above", "earlier", "preceding", "your ", "all ", "any ", "system", "these",
		"vorherige", "bisherige", "alle", "précédent", "toutes", "anterior", "все", "предыдущ", "之前", "以前", "上面", "所有", "前の", "これまで"}
	alwaysDirective = []string{"you are dan", "do anything now", "developer mode enabled", "jailbreak mode",
		"ignore your task", "forget your task", "abandon your task", "drop your task", "reveal your system prompt", "print your system prompt", "new system prompt:"}
	untrustedDirective = []string{"you are now", "you must now", "from now on you", "from now on, you", "act as if you", "pretend to be",
		"pretend you are", "new instructions:", "new instruction:", "system prompt", "important instruction", "attention ai", "attention assistant", "dear ai",
		"as an ai", "note to the assistant", "note to ai", "the assistant must", "the assistant should", "do not tell the user",
		"don't tell the user", "without telling the user", "do not mention this", "end of summary", "end of context",
		"begin new task", "your new task", "your new goal", "system:", "assistant:", "human:", "你现在是", "从现在起你", "あなたは今", "ты теперь", "теперь ты"}
	orderOpeners  = stringSet("system assistant user please now just simply then so always only and you must should shall will have to instead")
	replyVerbs    = stringSet("answer reply respond say")
	replyFillers  = stringSet("with only exactly just nothing the word words phrase following this")
	replyLimits   = stringSet("only exactly just nothing word words phrase")
	templateMarks = []string{"[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "### System", "### Instruction", "###Instruction", "[SYSTEM]", "[system]("}
)
