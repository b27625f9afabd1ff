package ui

import (
	"encoding/json"
	"strings"

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

// callText returns the arguments of a call as text: each after its name, one of several
// lines below it.
func callText(text string) string {
	args, ok := parseArguments(text)
	if !ok {
		return text
	}
	var b strings.Builder
	for _, a := range args {
		value, sep := a.text(), " "
		if strings.Contains(value, "\n") {
			sep = "\n"
		}
		b.WriteString(safetext.Line(a.name) + ":" + sep + strings.TrimSuffix(value, "\n") + "\n")
	}
	return b.String()
}
