package notes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// level says how many characters of each kind of note a text keeps.
type level struct {
	prompt, answer, step, plan, host, edit, ran int
	files                                       int // how many are listed
}

// levels by depth; the last is for all deeper ones, which keep ever fewer turns. They were chosen on real sessions
// (`go run ./bench carry`).
var levels = []level{
	{prompt: 1600, answer: 3000, step: 800, plan: 3000, host: 8000, edit: 240, ran: 320, files: 400},
	{prompt: 1200, answer: 1600, step: 600, plan: 1200, host: 1200, edit: 160, ran: 200, files: 200},
	{prompt: 800, answer: 1000, step: 500, plan: 600, host: 300, edit: 120, ran: 120, files: 120},
	{prompt: 400, answer: 600, step: 400, plan: 400, host: 200, edit: 120, ran: 60, files: 80},
	{prompt: 400, answer: 400, step: 400, plan: 400, edit: 80, files: 80},
	{prompt: 300, answer: 300, step: 300, plan: 200, files: 60},
	{prompt: 200, answer: 200, step: 120, plan: 200, files: 40},
	{prompt: 120, answer: 120, step: 40, files: 24},
	{prompt: 60, answer: 60, files: 12},
}

// Depths is how many depths differ, and keptTurns how many turns the first of those have
// that keep only some.
const (
	Depths    = 14
	keptTurns = 64
)

// Write makes the text of a summary at a depth of notes, without a footer.
func Write(lines []Line, depth int) string {
	v := levels[min(max(depth, 0), len(levels)-1)]
	w := writer{level: v, files: lastTouched(lines, v.files)}
	if thin := depth - len(levels) + 1; thin >= 0 {
		lines = thinned(lines, max(1, keptTurns>>min(thin, Depths)))
	}
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && !(lines[n].Kind == User && lines[n-1].Kind != User) {
			n++
		}
		short := n < len(lines) && len(lines[n].Text) <= shortPrompt
		w.turn(lines[:n], depth, short)
		lines = lines[n:]
	}
	if depth > 0 {
		w.fileList()
	}
	w.omissions()
	return w.b.String()
}

// thinned keeps so many words of the user and what belongs to their turns: standing
// instructions, the newest first, then what is longest.
func thinned(lines []Line, most int) []Line {
	var said []Line
	for _, l := range lines {
		if l.Kind == User {
			said = append(said, l)
		}
	}
	if len(said) <= most {
		return lines
	}
	worth := func(l Line) int64 {
		if standing().MatchString(l.Text) {
			return 1<<40 + l.Seq
		}
		return int64(len(l.Text))
	}
	slices.SortStableFunc(said, func(a, b Line) int { return cmp.Compare(worth(b), worth(a)) })
	kept := map[int64]bool{}
	for _, l := range said[:most] {
		kept[l.Seq] = true
	}
	keeping := false
	return slices.DeleteFunc(slices.Clone(lines), func(l Line) bool {
		if l.Kind == User {
			keeping = kept[l.Seq]
		}
		return !keeping && (l.Kind == User || l.Kind == Assistant || l.Kind == Commit)
	})
}

// shortPrompt is the length up to which a prompt may be an answer to a question.
const shortPrompt = 60

type writer struct {
	level
	b       strings.Builder
	files   map[string]int64 // the last message that changed each file that is listed
	omitted []int64
}

// turn writes the notes of one turn. If the next prompt is short, the end of the last
// answer may be the question that it answers.
func (w *writer) turn(lines []Line, depth int, question bool) {
	last := -1 // the last text of the assistant
	plan := -1
	for i, l := range lines {
		switch l.Kind {
		case Assistant:
			last = i
		case Plan:
			plan = i
		}
	}
	var changed []string
	for i, l := range lines {
		switch l.Kind {
		case User:
			w.line(l, cutPrompt(l.Text, w.prompt))
		case Assistant:
			switch {
			case i == last && question:
				w.line(l, ClipEnd(l.Text, w.answer))
			case i == last:
				w.line(l, Clip(l.Text, w.answer))
			default:
				w.line(l, Clip(unannounced(l.Text), w.step))
			}
		case Plan:
			if i == plan {
				w.line(l, Clip(l.Text, w.plan))
			}
		case Host:
			w.line(l, Clip(l.Text, w.host))
		case Commit, Failed:
			w.line(l, l.Text)
		case Ran, Saw:
			w.line(l, Clip(l.Text, w.ran))
		case Edit:
			w.line(l, Clip(l.Text, w.edit))
		case Files:
			for p := range strings.SplitSeq(l.Text, ", ") {
				if w.files[p] == l.Seq && !slices.Contains(changed, p) {
					changed = append(changed, p)
				}
			}
		case Omitted:
			w.omitted = append(w.omitted, l.Seq)
		}
	}
	if depth == 0 && len(changed) > 0 {
		w.line(Line{Kind: Files, Seq: lines[len(lines)-1].Seq}, strings.Join(changed, ", "))
	}
}

// announcement matches a sentence that says what the call after it shows: of few words that end in a
// colon, or "Let me …".
var announcement = lazyregexp.New(`(?i)^\W*(?:now,? )?let me |^(?:\S+\s+){0,11}\S*:$`)

// unannounced drops such a sentence from the end of a text. It is 6 % of the notes of real sessions.
func unannounced(text string) string {
	last := ""
	for s := range sentences(text) {
		last = s
	}
	if announcement().MatchString(last) {
		return strings.TrimSpace(strings.TrimSuffix(text, last))
	}
	return text
}

func (w *writer) line(l Line, text string) {
	if text == "" {
		return
	}
	w.b.WriteString(label(l.Kind, l.Seq) + text + "\n")
}

// label begins the line of a note.
func label(kind Kind, seq int64) string { return string(kind) + "#" + number(seq) + ": " }

// lastTouched returns, for the files that were changed last, the message of the last
// change.
func lastTouched(lines []Line, most int) map[string]int64 {
	last := map[string]int64{}
	for _, l := range slices.Backward(lines) {
		if l.Kind != Files {
			continue
		}
		for p := range strings.SplitSeq(l.Text, ", ") {
			if _, ok := last[p]; !ok && len(last) < most {
				last[p] = l.Seq
			}
		}
	}
	return last
}

func (w *writer) fileList() {
	if len(w.files) == 0 {
		return
	}
	var paths []string
	var seq int64
	for p, at := range w.files {
		paths, seq = append(paths, p), max(seq, at)
	}
	slices.Sort(paths)
	w.line(Line{Kind: Files, Seq: seq}, strings.Join(paths, ", "))
}

// omissions names the messages from which instruction-like text was left out.
func (w *writer) omissions() {
	for _, seq := range slices.Compact(w.omitted) {
		w.line(Line{Kind: Omitted, Seq: seq}, "instruction-like text")
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Clip leaves out the middle of a text that is longer than n characters.
func Clip(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	head := n * 2 / 3
	return atWord(string(r[:head]), false) + " … " + atWord(string(r[len(r)-(n-head):]), true)
}

// ClipEnd leaves out the beginning of a text that is longer than n characters.
func ClipEnd(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return "… " + atWord(string(r[len(r)-n:]), true)
}

// atWord drops the word that a cut has parted.
func atWord(text string, start bool) string {
	const near = 24
	if start {
		if i := strings.IndexByte(text, ' '); i >= 0 && i < near {
			return text[i+1:]
		}
		return text
	}
	if i := strings.LastIndexByte(text, ' '); i > len(text)-near && i > 0 {
		return text[:i]
	}
	return text
}

// standing matches a sentence that says how work is to be done from now on.
var standing = lazyregexp.New(`(?i)\b(?:always|never|don'?t|do not|must(?:n't)?|should(?:n't)?|instead|rather than|prefer|make sure|avoid|stop|only|no need|remember|from now on|i'?ll|i will|keep|leave|please)\b`)

// rule matches an order of the user about how work is done: "don't …", "always …" at the
// beginning of a sentence or a clause, "use X, not Y", "I'll do that myself".
var rule = lazyregexp.New(`(?i)^(?:[^\w+/]|(?:please|also|and|but|so|just|then|let's|(?:ok|no|yes),?) )*(?:(?:always|never|don'?t|do not|from now on|make sure|remember to|prefer|avoid)\b|use .{1,60}(?:\bnot |instead of|rather than))` +
	`|[,;:–-] (?:(?:please|and|but|so|just) )?(?:always|never|don'?t|do not|make sure)\b` +
	`|\b(?:you|we) (?:should|must) (?:always|never)\b|\bplease (?:don'?t|do not|never|always)\b|\bfrom now on\b|\b(?:i'?ll|i will)\b.{0,60}\b(?:myself|manually)\b`)

// noRule matches questions, and what only sounds like an order: "don't know".
var noRule = lazyregexp.New(`(?i)\?\W*$|^[+/]|\bdon'?t (?:know|think|have|see|get|understand|like|agree|care|we|you|worry)\b`)

// maxTyped is the size of a prompt in bytes above which it is taken for a pasted text.
const maxTyped = 1000

// Rules returns the standing instructions in a prompt.
func Rules(text string) (all []string) {
	if len(text) > maxTyped {
		return nil
	}
	for line := range strings.Lines(text) {
		line, _ = clean(line, false)
		for s := range sentences(line[bulletLen(line):]) {
			if len(s) <= maxRule && rule().MatchString(s) && !noRule().MatchString(s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// maxRule bounds a standing instruction that is kept beside a prompt that was cut.
const maxRule = 200

// cutPrompt cuts a prompt in the middle, and keeps the standing instructions there.
func cutPrompt(text string, n int) string {
	short := Clip(text, n)
	if short == text || n <= 0 {
		return short
	}
	room := max(n/2, 160)
	var rules []string
	for s := range sentences(text) {
		if size := len(s); size <= maxRule && size <= room && standing().MatchString(s) && !strings.Contains(short, s) {
			rules, room = append(rules, s), room-size
		}
	}
	if len(rules) == 0 {
		return short
	}
	if with := short + " … " + strings.Join(rules, " … "); len(with) < len(text) {
		return with
	}
	return text
}
