package summary

import (
	"slices"
	"strings"
)

// Factors of the gain of a unit.
const (
	userPrior     = 1.6
	toolPrior     = 0.5
	firstPrior    = 1.15 // the first message names the subject
	cuePrior      = 1.15
	questionPrior = 0.35
	ackPrior      = 0.25
)

// quotes reports whether a sentence carries a quotation.
func quotes(s string) bool {
	return strings.ContainsAny(s, "\"“”«»「」`")
}

// priorOf weighs a unit by its speaker and its wording.
func priorOf(d *doc, low string, from origin) float64 {
	w := 1.0
	switch from {
	case fromUser:
		w = userPrior
	case fromCode, fromTool:
		w = toolPrior
	}
	if d.first {
		w *= firstPrior
	} else if containsAny(low, cues) {
		w *= cuePrior
	}
	if from == fromAssistant && endsAsking(low) {
		w *= questionPrior
	}
	if isAck(low) {
		w *= ackPrior
	}
	return w
}

func endsAsking(s string) bool {
	s = strings.TrimRight(s, ")\"'”’* ")
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// isAck reports greetings, thanks, and announcements of the next step.
func isAck(low string) bool {
	return len(low) <= 90 && slices.ContainsFunc(announcements, func(a string) bool { return strings.HasPrefix(low, a) }) ||
		len(low) <= 45 && slices.ContainsFunc(acks, func(a string) bool {
			rest, ok := strings.CutPrefix(low, a)
			return ok && (rest == "" || !isWordByte(rest[0]))
		})
}

func reportsFailure(line string) bool {
	return containsAny(strings.ToLower(line[:min(len(line), 4*maxUnitBytes)]), failures)
}

var (
	cues = []string{"decid", "decision", "agree", "must", "never", "always", "fix", "error", "root cause", "prefer", "deadline", "todo",
		"because", "instead of", "remember", "important", "do not", "don't", "conclusion", "turns out", "caused by", "requirement",
		"必须", "决定", "错误", "因为", "修复", "不要", "必要", "決定", "エラー", "원인", "결정", "ошибк", "решил", "потому", "нужно", "нельзя", "entschied", "weil", "fehler"}
	acks = []string{"thanks", "thank you", "ok", "okay", "great", "sure", "hi", "hello", "hey", "perfect", "sounds good", "got it", "good",
		"nice", "cool", "done", "yes", "no", "please", "will do", "understood", "right", "excellent", "awesome", "you're welcome", "good morning",
		"спасибо", "привет", "danke", "hallo", "merci", "bonjour", "gracias", "hola"}
	announcements = []string{"let me ", "i'll ", "i will ", "now let", "let's ", "now i'll", "first, let me", "looking at ", "here is ", "here's ",
		"谢谢", "好的", "你好", "明白了", "收到", "没问题", "ありがとう", "こんにちは", "承知しました", "了解", "わかりました", "감사", "알겠습니다"}
	failures = []string{"error", "fail", "panic", "fatal", "exception", "traceback", "denied", "not found", "undefined", "cannot ", "refused",
		"timed out", "timeout", "exit code", "exit status", "exited with", "segfault", "assert", "错误", "失败", "エラー", "ошибка"}
)
