package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// origin says where content comes from: the file that a tool call names, else the tool.
type origin struct{ name, path string }

// originOf reads the arguments of a call for the one file that it names.
func originOf(tool, arguments string) origin {
	from := origin{name: tool}
	var fields map[string]any
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return from
	}
	for key, value := range fields {
		file, _ := value.(string)
		if key == "command" || key == "cmd" {
			file = readFile(value)
		} else if !namesFile(key, file) {
			file = ""
		}
		if file == "" {
			continue
		}
		if from.path != "" && from.path != file {
			return origin{name: tool} // a copy has two
		}
		from = origin{name: path.Base(strings.ReplaceAll(file, `\`, "/")), path: file}
	}
	return from
}

// reads matches a command that does nothing but print one file, or a part of it.
var reads = lazyregexp.New(`^\s*(?:cd \S+ && )?(?:cat|head|tail|nl|sed)(?: -[\w-]+| \d+| '?[\d,$]+p'?)* (?:([^\s'"|;&<>$*?()\x60{}-][^\s'"|;&<>$*?()\x60{}]*)|'([^'\n]+)'|"([^"\n$\x60]+)")\s*$`)

// readFile returns the file that a command prints, or "".
func readFile(command any) string {
	if words, _ := command.([]any); len(words) > 0 {
		command = words[len(words)-1] // ["bash", "-lc", "cat a"]
	}
	line, _ := command.(string)
	m := reads().FindStringSubmatch(line)
	if m == nil || len(line) > maxPath {
		return ""
	}
	return cmp.Or(m[1:]...)
}

// maxPath bounds a path in bytes.
const maxPath = 1024

// namesFile reports whether an argument is the path of a file. A key like "path" also names
// directories, which have no extension.
func namesFile(key, value string) bool {
	key = strings.ToLower(key)
	base := path.Base(strings.ReplaceAll(value, `\`, "/"))
	switch {
	case value == "" || len(value) > maxPath || strings.ContainsAny(value, "\n\x00*") || strings.HasSuffix(value, "/"):
		return false
	case strings.HasPrefix(key, "file") || strings.HasSuffix(key, "file"):
		return true
	}
	return strings.HasSuffix(key, "path") && path.Ext(base) != "" && path.Ext(base) != base
}

// lookback is how many stored messages are searched for the call of a result.
const lookback = 100

// origins returns where the large outputs of tool calls come from, by the id of the call. A
// call that does not arrive with its result is stored already.
func (in *Ingester) origins(ctx context.Context, id store.ConversationID, ms []input) (map[string]origin, error) {
	large := func(p llms.Part) bool { return len(p.Text) > in.threshold || p.Blob != nil }
	open := map[string]bool{}
	for _, m := range ms {
		for _, r := range m.ToolResults() {
			if slices.ContainsFunc(r.Output, large) {
				open[r.CallID] = true
			}
		}
	}
	found := map[string]origin{}
	note := func(m llms.Message) {
		for _, c := range m.ToolCalls() {
			if open[c.ID] {
				found[c.ID] = originOf(c.Name, c.Arguments)
				delete(open, c.ID)
			}
		}
	}
	for _, m := range ms {
		note(m.Message)
	}
	if len(open) == 0 {
		return found, nil
	}
	for m, err := range in.store.Messages(ctx, store.MessageQuery{Conversation: id, Newest: true, NoRaw: true, Limit: lookback}) {
		if err != nil {
			return nil, err
		}
		note(m.Body)
	}
	return found, nil
}
