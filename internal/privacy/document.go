package privacy

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// maxNesting is how many levels of JSON or base64 inside strings are decoded. Each
// level of JSON doubles the backslashes of the one below it.
const maxNesting = 8

// editor edits a text and the texts nested in it: strings of JSON, and base64.
type editor struct {
	Redactor
	with   func(text []byte, binary bool) []byte // replaces the redactor, if set
	whole  bool                                  // replace all of a string that has a finding
	counts Counts
	buffer []byte // of [editor.named]
}

// Strings calls yield with every decoded string of a JSON text, field names
// included, or with the text itself if it is not JSON. The texts nested in a
// string, as JSON or base64, come before it.
func Strings(raw []byte, yield func(text []byte)) {
	if !json.Valid(raw) {
		yield(raw)
		return
	}
	e := &editor{with: func(text []byte, binary bool) []byte {
		if !binary {
			yield(text)
		}
		return nil
	}}
	e.json(raw, 0)
}

// Rewrite calls edit with the decoded strings of a JSON text, or with the text
// itself if it is not JSON, and replaces them with the results; nil keeps one.
// It returns nil if nothing changed.
func Rewrite(raw []byte, edit func(text []byte) []byte) []byte {
	return (&editor{with: func(text []byte, _ bool) []byte { return edit(text) }}).text(raw, 0)
}

// text edits the texts nested in a text, then the text itself. JSON is edited
// string by string, so that it stays JSON whatever is found in it.
func (e *editor) text(text []byte, depth int) []byte {
	var changed []byte
	if depth < maxNesting {
		if !looksJSON(text) || !json.Valid(text) {
			changed = e.lines(text, depth+1)
			changed = either(e.base64(either(changed, text), depth+1), changed)
		} else if changed = e.json(text, depth+1); e.with == nil {
			return changed
		}
	}
	if whole := e.edit(either(changed, text), false); whole != nil {
		return whole
	}
	return changed
}

// lines edits the lines of a text that are JSON, as those of a log are.
func (e *editor) lines(text []byte, depth int) (out []byte) {
	at, kept := 0, 0
	for line := range bytes.Lines(text) {
		if at += len(line); e.with == nil && looksJSON(line) && json.Valid(line) {
			if changed := e.json(line, depth); changed != nil {
				out = append(append(out, text[kept:at-len(line)]...), changed...)
				kept = at
			}
		}
	}
	if out == nil {
		return nil
	}
	return append(out, text[kept:]...)
}

func either(changed, text []byte) []byte {
	if changed != nil {
		return changed
	}
	return text
}

func looksJSON(text []byte) bool {
	t := bytes.TrimSpace(text)
	if len(t) < 2 {
		return false
	}
	first, last := t[0], t[len(t)-1]
	return first == '{' && last == '}' || first == '[' && last == ']' || first == '"' && last == '"'
}

// literal is a string of a JSON text, with its quotes, and what replaces it.
type literal struct {
	start, end int
	with       []byte
	in         string // the kind of container in which it is a secret
}

// container is an object or array that is being read.
type container struct {
	object bool
	isKey  bool   // the next string of an object is a field name
	outer  []byte // the name of the field that holds the container
	key    []byte // the current field name
	first  []byte // the first string of an array, and the last one
	last   []byte
	// name and value are the strings of {"name": "DB_PASSWORD", "value": "…"}.
	name  []byte
	value literal
	// A JSON web key has the type kty, and its private numbers are secrets; so are the data of an
	// object of the kind Secret, what one of the type random_password results in, and a value that is marked as sensitive.
	kind  string
	inner []literal
}

// json edits the strings of valid JSON. It rewrites only the changed literals, and
// returns nil if there are none.
func (e *editor) json(raw []byte, depth int) []byte {
	var edits []literal
	stack := make([]container, 1, 16)
	for i := 0; i < len(raw); i++ {
		top := &stack[len(stack)-1]
		switch raw[i] {
		case '{', '[':
			c := container{object: raw[i] == '{', isKey: raw[i] == '{', outer: top.key}
			if !c.object {
				c.key = top.key
			}
			stack = append(stack, c)
		case '}', ']':
			if e.Secrets && e.with == nil {
				edits = append(edits, e.close(stack)...)
			}
			stack = stack[:len(stack)-1]
		case ',':
			top.isKey = top.object
		case 't':
			if string(top.key) == "sensitive" {
				top.kind = "sensitive"
			}
		case '"':
			lit := literal{start: i, end: literalEnd(raw, i)}
			text := unquote(raw[i:lit.end])
			isKey := top.isKey
			signature := !isKey && e.with == nil && string(top.key) == "signature" && signsThinking(text) && runEnd(text, 0) == len(text)
			if !signature {
				lit.with = e.text(text, depth)
			}
			switch {
			case isKey:
				top.key, top.isKey = text, false
			case e.with == nil && e.Secrets && lit.with == nil && !signature:
				edits = append(edits, e.member(top, lit, text)...)
			}
			if !isKey {
				top.last = text
				if top.first == nil {
					top.first = text
				}
			}
			if lit.with != nil {
				edits = append(edits, lit)
			}
			i = lit.end - 1
		}
	}
	return rewritten(raw, edits)
}

// rewritten returns JSON with the changed literals, or nil if there are none.
func rewritten(raw []byte, edits []literal) []byte {
	if edits == nil {
		return nil
	}
	slices.SortFunc(edits, func(a, b literal) int { return a.start - b.start })
	out := make([]byte, 0, len(raw))
	kept := 0
	for _, lit := range edits {
		if lit.start < kept {
			continue // the same string twice
		}
		out = append(append(out, raw[kept:lit.start]...), quote(lit.with, raw[lit.start:lit.end])...)
		kept = lit.end
	}
	return append(out, raw[kept:]...)
}

// literalEnd returns the end of the string literal that begins at from.
func literalEnd(raw []byte, from int) int {
	for i := from + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func unquote(lit []byte) []byte {
	text := lit[1 : len(lit)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	text, _ = jsonstring.Unescape(make([]byte, 0, len(text)), text) // it is valid
	return text
}

// quote encodes a text as the literal that it replaces was encoded.
func quote(text, was []byte) []byte {
	if bytes.Contains(was, []byte(`\u003c`)) || bytes.Contains(was, []byte(`\u003C`)) {
		lit, _ := json.Marshal(string(text)) // a string always encodes
		return lit
	}
	lit, _ := jsonstring.Marshal(string(text))
	return lit
}

// member returns the edits that follow from the name under which a string stands:
// that of its field, of the field around it, or of the field called "name" beside it.
func (e *editor) member(in *container, lit literal, text []byte) (edits []literal) {
	replace := func(lit literal, kind string) {
		if kind != "" {
			e.counts.Secrets++
			lit.with = []byte(Finding{Kind: kind}.mark())
			edits = append(edits, lit)
		}
	}
	key := string(bytes.ToLower(in.key))
	switch {
	case in.object && slices.Contains(valueFields, key):
		if replace(lit, e.named(in.outer, "=", text)); edits == nil && len(text) >= 4 && !isReference(text) && !isMark(text) && !isPlaceholder(text) {
			in.hold(lit, "sensitive")
		}
		in.value, in.value.with = lit, text
	case in.object && slices.Contains(nameFields, key):
		in.name = text
		replace(lit, e.named(in.key, "=", text))
	case in.object && key == "kty":
		in.kind = key
	case in.object && (key == "kind" && string(text) == "Secret" || key == "type" && string(text) == "random_password"):
		in.kind = string(text)
	case in.object && slices.Contains(webKeyNumbers, key) && len(text) >= 20 && count(text, urlsafe) == len(text):
		in.hold(lit, "kty")
	case in.object && slices.Contains(secretData, string(in.outer)) && len(text) >= 4 && !isReference(text) && !isMark(text) && !isPlaceholder(text):
		in.hold(lit, "Secret")
	case in.object && key == "result" && string(in.outer) == "attributes" && !isMark(text):
		in.hold(lit, "random_password")
	case !in.object && bytes.HasPrefix(in.first, []byte("mysql")) && bytes.HasPrefix(text, []byte("-p")):
		if replace(lit, e.named([]byte("password"), "=", text[2:])); edits != nil {
			edits[0].with = append([]byte("-p"), edits[0].with...)
		}
	case !in.object && bytes.HasPrefix(in.last, []byte("-")):
		replace(lit, e.named(in.last, " ", text)) // the value of a command's option
	default:
		replace(lit, e.named(in.key, "=", text))
	}
	if in.name != nil && in.value.with != nil {
		replace(in.value, e.named(in.name, "=", in.value.with))
		in.value.with = nil
	}
	return edits
}

// nameFields and valueFields are the fields of an object that has a name and a value.
var nameFields, valueFields = []string{"name", "key", "parameterkey", "parametername"}, []string{"value", "default", "parametervalue"}

// webKeyNumbers are the fields of a JSON web key that are private.
var webKeyNumbers = []string{"d", "p", "q", "dp", "dq", "qi", "k"}

// secretData are the fields of a Secret of Kubernetes that have its values.
var secretData = []string{"data", "stringData"}

// hold keeps a string that is a secret in a container of a kind.
func (c *container) hold(lit literal, kind string) {
	lit.in = kind
	lit.with = []byte(SecretMark + map[string]string{"kty": "web key", "Secret": "kubernetes secret", "random_password": "password", "sensitive": "sensitive output"}[kind] + "]")
	c.inner = append(c.inner, lit)
}

// close returns the edits of the strings that the kind of the last container makes secrets, and leaves
// others to the container around it: an object's kind may come after its data.
func (e *editor) close(stack []container) (edits []literal) {
	c, around := &stack[len(stack)-1], &stack[len(stack)-2]
	for _, lit := range c.inner {
		if lit.in == c.kind {
			edits = append(edits, lit)
		} else if len(around.inner) < maxInner && lit.in != "kty" && lit.in != "sensitive" {
			around.inner = append(around.inner, lit)
		}
	}
	e.counts.Secrets += len(edits)
	return edits
}

// maxInner bounds what is left to the container around one, so that time stays linear.
const maxInner = 64

// named returns the kind of secret that a text is because of its name, or "".
func (e *editor) named(name []byte, sign string, text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) < 4 || len(text) > longestValue || bytes.IndexByte(text, '\n') >= 0 || !loadRules().hasKeyword(name) {
		return ""
	}
	b := append(append(e.buffer[:0], name[max(0, len(name)-100):]...), sign...)
	b = append(b, '"')
	from := len(b)
	for _, c := range text {
		if c == '"' || c == '\'' || c == '`' || c == '\\' {
			c = '!' // it would end the value
		}
		b = append(b, c)
	}
	b = append(b, '"')
	e.buffer = b
	for _, f := range Secrets(b) {
		if f.End > from {
			return f.Kind
		}
	}
	return ""
}
