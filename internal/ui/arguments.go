package ui

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// argument is one argument of a tool call.
type argument struct {
	name  string
	value json.RawMessage
}

// parseArguments returns the arguments of a call in their order, or false if they
// are not a JSON object.
func parseArguments(text string) (args []argument, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		a := argument{name: name.(string)} // a key is a string
		if d.Decode(&a.value) != nil {
			return nil, false
		}
		args = append(args, a)
	}
	_, err := d.Token()
	return args, err == nil
}

// text returns an argument as text: a string as it is, the words of a command
// joined, anything else as JSON.
func (a argument) text() string {
	var text string
	if json.Unmarshal(a.value, &text) == nil {
		return text
	}
	var words []string
	if json.Unmarshal(a.value, &words) == nil && a.name == "command" {
		if len(words) == 3 && strings.HasPrefix(words[1], "-") { // bash -lc …
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return indented(string(a.value))
}

func (a argument) isString() bool { return len(a.value) > 0 && a.value[0] == '"' }

// changeNames are the names that agents give to the text before an edit and after it.
var changeNames = [][2]string{
	{"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"}, {"old_text", "new_text"}, {"oldText", "newText"}, {"old", "new"},
	{"search", "replace"},
}

// mainArguments are the names of arguments that describe a call best, the best first.
var mainArguments = []string{"path", "file_path", "filePath", "filename", "file", "command", "cmd", "pattern", "query", "url", "description", "prompt"}

// callHead returns the arguments of a call on one line.
func callHead(text string) string {
	args, ok := parseArguments(text)
	for _, name := range mainArguments {
		for _, a := range args {
			if a.name == name && (a.isString() || name == "command") {
				return firstLine(a.text())
			}
		}
	}
	if ok && len(args) == 1 {
		return firstLine(args[0].text())
	}
	return firstLine(prose.OneLine(text))
}

// callWriter writes the arguments of a call as HTML, up to a number of characters.
type callWriter struct {
	b    strings.Builder
	room int // characters that may still be written, negative for all
	left int // characters that were left out
}

// showCall returns the arguments of a call: short ones as a list, long ones as text,
// and an edit as a diff. left counts the characters that were left out.
func showCall(text string, whole bool) (out markup, left int) {
	w := &callWriter{room: shownCharacters}
	if whole {
		w.room = -1
	}
	args, ok := parseArguments(text)
	if !ok {
		w.block("", text, isDiff(text))
		return markup(w.b.String()), w.left
	}
	w.arguments(args)
	return markup(w.b.String()), w.left
}

func (w *callWriter) arguments(args []argument) {
	before, after := -1, -1
	for _, names := range changeNames {
		i := slices.IndexFunc(args, func(a argument) bool { return a.name == names[0] && a.isString() })
		j := slices.IndexFunc(args, func(a argument) bool { return a.name == names[1] && a.isString() })
		if i >= 0 && j >= 0 {
			before, after = i, j
			break
		}
	}
	var long []argument
	var list strings.Builder
	for i, a := range args {
		if i == before || i == after {
			continue
		}
		text := safetext.Text(a.text())
		if strings.Contains(text, "\n") || utf8.RuneCountInString(text) > 200 {
			long = append(long, a)
			continue
		}
		w.take(&text)
		list.WriteString("<dt>" + html.EscapeString(safetext.Line(a.name)) + "</dt><dd>" + html.EscapeString(text) + "</dd>")
	}
	if list.Len() > 0 {
		w.b.WriteString(`<dl class="arguments">` + list.String() + "</dl>")
	}
	for _, a := range long {
		w.block(a.name, a.text(), isDiff(a.text()))
	}
	if before >= 0 {
		w.block("", lineDiff(args[before].text(), args[after].text()), true)
	}
}

// block writes a long text under its name.
func (w *callWriter) block(name, text string, diff bool) {
	text = safetext.Text(text)
	w.take(&text)
	if text == "" {
		return
	}
	if name != "" {
		w.b.WriteString(`<p class="argument">` + html.EscapeString(safetext.Line(name)) + "</p>")
	}
	w.b.WriteString(string(pre(text, diff)))
}

// take cuts a text to the room that is left.
func (w *callWriter) take(text *string) {
	if w.room < 0 {
		return
	}
	n := utf8.RuneCountInString(*text)
	if n > w.room {
		*text = string([]rune(*text)[:w.room])
		w.left += n - w.room
		n = w.room
	}
	w.room -= n
}

// lineDiff returns the change of a text as the lines of a diff: those that both texts begin
// and end with, and between them the old lines and the new ones.
func lineDiff(before, after string) string {
	lines := func(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
	a, b := lines(before), lines(after)
	if before == "" {
		a = nil
	}
	if after == "" {
		b = nil
	}
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	for _, part := range []struct {
		sign  string
		lines []string
	}{{" ", a[:head]}, {"-", a[head : len(a)-tail]}, {"+", b[head : len(b)-tail]}, {" ", a[len(a)-tail:]}} {
		for _, l := range part.lines {
			out.WriteString(part.sign + l + "\n")
		}
	}
	return out.String()
}
