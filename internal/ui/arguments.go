package ui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
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

// mainArguments are the names of arguments that describe a call best, the best first.
var mainArguments = append(append([]string{"path"}, fileArguments...), "command", "cmd", "pattern", "query", "url", "description", "prompt")

var (
	fileArguments = []string{"file_path", "filePath", "filename", "file", "notebook_path"}
	// editArguments are those that a diff says.
	editArguments = []string{"old", "new", "old_string", "new_string", "oldString", "newString", "old_str", "new_str", "oldText", "newText", "edits"}
)

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

// fileOf returns the path of the file that a call changes or reads, or "".
func fileOf(call *llms.ToolCall) string {
	if changed := notes.Changed(call); len(changed) > 0 {
		return changed[0]
	}
	args, _ := parseArguments(call.Arguments)
	for _, a := range args {
		if slices.Contains(fileArguments, a.name) && a.isString() {
			return a.text()
		}
	}
	return ""
}

// callText returns the arguments of a call as text: each after its name, one of several
// lines below it. Those of an edit are a diff.
func callText(call *llms.ToolCall) string {
	args, ok := parseArguments(call.Arguments)
	if !ok {
		return call.Arguments
	}
	var b, edits strings.Builder
	for _, c := range notes.Changes(call) {
		if c.Old != nil {
			edits.WriteString(lineDiff(c.Old, c.New))
		}
	}
	for _, a := range args {
		if edits.Len() > 0 && slices.Contains(editArguments, a.name) {
			continue
		}
		value, sep := a.text(), " "
		if strings.Contains(value, "\n") {
			sep = "\n"
		}
		b.WriteString(safetext.Line(a.name) + ":" + sep + strings.TrimSuffix(value, "\n") + "\n")
	}
	return b.String() + edits.String()
}
