package delegation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/lookup"
)

// reply is a sub-agent's last message. Its claim about totals is not read.
type reply struct {
	Answer    string
	CitedIDs  []string
	Truncated bool     // the sub-agent says that its answer is not complete
	BrokeOff  bool     // the reply ended in the middle of a text
	Missing   []string // what it says that was not read
}

// errNoAnswer says that a reply holds nothing that could be one.
var errNoAnswer = errors.New(`it holds no JSON object with a non-empty "answer"`)

// maxReply is how many bytes of a reply are read. Each '{' may begin the answer, so a
// byte may be decoded several times: maxDecoded bounds the sum.
const (
	maxReply   = 1 << 20
	maxDecoded = 64 * maxReply
)

// parseReply finds the JSON answer in a sub-agent's text: bare, fenced, with
// text around it, or broken in one of the ways in which models break JSON. Of
// several answers the last counts: a model that thinks aloud ends with its answer,
// and quotations before it may look like one.
func parseReply(text string) (reply, error) {
	found, broken, problem := objects(text[:lookup.Boundary(text, maxReply)])
	if n := len(found); n > 0 {
		return found[n-1], nil
	}
	left := maxDecoded
	for _, object := range broken { // only when none is whole: a repaired one may be a part
		if left -= len(object); left < 0 {
			break
		}
		fenced, _, _ := strings.Cut(object, "```")
		for _, object := range []string{object, fenced} {
			mended, brokeOff := mend(object)
			if r, _, err := readReply(mended); err == nil {
				r.BrokeOff = brokeOff
				return r, nil
			}
		}
	}
	return reply{}, problem
}

// objects reads the JSON objects of a text that have an answer, in order. An object
// without one may be an envelope: those inside it are read. broken has the texts from
// each place where an invalid object with a quoted key begins: braces of quoted code have
// none. problem says why the first object cannot be read.
func objects(text string) (found []reply, broken []string, problem error) {
	problem = errNoAnswer
	last := strings.LastIndex(text, "answer")
	for left := maxDecoded; left > 0; {
		at := strings.IndexByte(text, '{')
		if at < 0 || at > last {
			break
		}
		text, last = text[at:], last-at
		r, size, err := readReply(text)
		left -= max(size, 512) // a decoder reads at least 512 bytes
		switch {
		case err == nil:
			found = append(found, r)
		case errors.Is(err, errNoAnswer):
			if strings.Contains(text[:size], "answer") {
				size = 1
			}
		default:
			if errors.Is(problem, errNoAnswer) {
				problem = err
			}
			if strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), `"`) {
				broken = append(broken, text)
			}
			size = 1
		}
		text, last = text[size:], last-size
	}
	return found, broken, problem
}

// readReply reads the object that a text begins with, with good will towards its
// types. size is the number of bytes that were decoded. The error is errNoAnswer if the
// object is valid JSON without an answer.
func readReply(text string) (r reply, size int, err error) {
	var fields map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&fields); err != nil {
		size = len(text)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			size = int(syntax.Offset)
		}
		return reply{}, size, fmt.Errorf("it is not valid JSON: %w", err)
	}
	size = int(d.InputOffset())
	answer := fields["answer"]
	if json.Unmarshal(answer, &r.Answer) != nil && len(answer) > 0 && string(answer) != "null" {
		r.Answer = string(answer) // an object or a list is an answer too
	}
	if strings.TrimSpace(r.Answer) == "" {
		return reply{}, size, errNoAnswer
	}
	var one string
	var many []any
	switch cited := fields["citedIds"]; {
	case json.Unmarshal(cited, &one) == nil && one != "":
		r.CitedIDs = strings.FieldsFunc(one, func(c rune) bool { return c == ',' || c == ' ' })
	case json.Unmarshal(cited, &many) == nil:
		for _, v := range many {
			if s, ok := v.(string); ok {
				r.CitedIDs = append(r.CitedIDs, s)
			}
		}
	}
	r.Truncated = strings.EqualFold(strings.Trim(string(fields["truncated"]), `"`), "true")
	return r, size, nil
}

// mend repairs the commonest damage: line breaks and other control characters
// inside strings, escapes that JSON does not know, commas before a closing
// bracket, and an end that is missing; brokeOff says that the end was inside a
// string.
func mend(text string) (mended string, brokeOff bool) {
	var b strings.Builder
	var open []byte
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if quoted {
			switch {
			case c == '\\' && i+1 < len(text):
				i++
				if !strings.ContainsRune(`"\/bfnrtu`, rune(text[i])) {
					b.WriteByte('\\') // \d of a regular expression, \_ of Markdown
				}
				b.WriteByte('\\')
				b.WriteByte(text[i])
			case c == '"':
				quoted = false
				b.WriteByte(c)
			case c < 0x20:
				fmt.Fprintf(&b, `\u%04x`, c)
			case c == '\\': // the text ends in it
			default:
				b.WriteByte(c)
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			open = append(open, c+2) // their closing brackets in ASCII
		case '}', ']':
			if n := len(open); n > 0 && open[n-1] == c {
				open = open[:n-1]
			}
		case ',':
			if rest := strings.TrimLeft(text[i+1:], " \t\r\n"); rest == "" || rest[0] == '}' || rest[0] == ']' {
				continue
			}
		}
		b.WriteByte(c)
	}
	if quoted {
		b.WriteByte('"')
	}
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteByte(open[i])
	}
	return b.String(), quoted
}

// shownIDs is how many of the ids that it has read a sub-agent is reminded of.
const shownIDs = 16

// judge reads a reply, and refuses one that cannot be read or that the record does not
// support: one given without reading, one whose citations all name texts that were not read, and
// one that says things of which nothing was read; without citations, a single such thing is enough.
// An answer without names and figures needs no citation: "the record does not say" has none.
func (g *Grant) judge(text string, r request) (said reply, no *rejection) {
	g.mu.Lock()
	defer g.mu.Unlock()
	read := &g.served
	said, err := parseReply(text)
	if err != nil {
		g.sealed = len(read.order) > 0 // only the form of the answer is missing
		return said, &rejection{code: errReply, problem: err.Error()}
	}
	if len(read.order) == 0 {
		return said, &rejection{errGround, "nothing of the record was read", "Call lcm_expand with the payload of the task first."}
	}
	hint := "You have read " + prose.Join(read.order[:min(len(read.order), shownIDs)], ", ", 0) + "."
	if len(said.CitedIDs) > 0 && !slices.ContainsFunc(said.CitedIDs, func(id string) bool { _, ok := read.cite(id); return ok }) {
		return said, &rejection{errGround, fmt.Sprintf("it cites %s, and nothing of that was read", prose.Clip(strings.Join(said.CitedIDs, ", "), 120)), hint}
	}
	held := 0
	if said.Missing, held = read.check(said.Answer, r); len(said.Missing) > 0 && (held == 0 || len(said.CitedIDs) == 0) {
		return said, &rejection{errGround, fmt.Sprintf("nothing that was read says %q", prose.Clip(said.Missing[0], 60)), hint}
	}
	return said, nil
}
