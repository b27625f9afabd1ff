package delegation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/prose"
)

// reply is a sub-agent's last message. Its claim about totals is not read.
type reply struct {
	Answer    string
	CitedIDs  []string
	Truncated bool // the sub-agent says that its answer is not complete
	BrokeOff  bool // the reply ended in the middle of a text
}

var fence = lazyregexp.New("(?s)```[a-zA-Z0-9]*[ \t]*\r?\n?(.*?)```")

// errNoAnswer says that a reply holds nothing that could be one.
var errNoAnswer = errors.New(`it holds no JSON object with a non-empty "answer"`)

// maxReply bounds how much of a reply is looked at.
const maxReply = 1 << 20

// parseReply finds the JSON answer in a sub-agent's text: bare, fenced, with
// text around it, or broken in one of the ways in which models break JSON.
func parseReply(text string) (reply, error) {
	if len(text) > maxReply {
		text = text[:floor(text, maxReply)]
	}
	all := candidates(text)
	var problem error = errNoAnswer
	for i, candidate := range all {
		r, err := readReply([]byte(candidate))
		if err == nil {
			return r, nil
		}
		if i == 0 {
			problem = err
		}
	}
	// Only when none is whole: a repaired one may be a part.
	for _, candidate := range all {
		mended, brokeOff := mend(candidate)
		if r, err := readReply([]byte(mended)); err == nil {
			r.BrokeOff = brokeOff
			return r, nil
		}
	}
	return reply{}, problem
}

// maxObjects bounds how many objects of a reply are looked at.
const maxObjects = 64

// candidates lists possible JSON objects, the likeliest first. A model that thinks
// aloud ends with its answer, and quotations before it may look like one: the last
// comes first.
func candidates(text string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); strings.HasPrefix(s, "{") && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	blocks := fence().FindAllStringSubmatch(text, -1)
	slices.Reverse(blocks)
	for _, block := range blocks[:min(len(blocks), maxObjects)] {
		add(block[1])
	}
	whole, cut := objects(text)
	slices.Reverse(whole)
	if strings.HasPrefix(strings.TrimSpace(text), "{") && len(whole) < 2 {
		add(text)
	}
	for _, o := range whole {
		add(o)
	}
	for _, o := range whole { // an answer in an envelope
		inner, _ := objects(o[1:])
		for _, o := range inner {
			add(o)
		}
	}
	for _, o := range cut {
		add(o)
	}
	return all
}

// objects finds the objects of a text that may be an answer: those that end, in order,
// and the beginnings of those that do not.
func objects(text string) (whole, cut []string) {
	at := 0
	for range maxObjects {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		end := objectEnd(text[at:])
		switch {
		case end < 0:
			cut = append(cut, text[at:]) // mend closes it
			at++
		case strings.Contains(text[at:at+end], "answer"):
			whole = append(whole, text[at:at+end])
			at += end
		default:
			at += end
		}
	}
	return whole, cut
}

// objectEnd returns where the object at the start of text ends, or -1.
func objectEnd(text string) int {
	depth, quoted, escaped := 0, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped = c == '\\'
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// readReply reads an object with good will towards its types.
func readReply(raw []byte) (reply, error) {
	var fields map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&fields); err != nil {
		return reply{}, fmt.Errorf("it is not valid JSON: %w", err)
	}
	var r reply
	answer := fields["answer"]
	if json.Unmarshal(answer, &r.Answer) != nil && len(answer) > 0 && string(answer) != "null" {
		r.Answer = string(answer) // an object or a list is an answer too
	}
	if strings.TrimSpace(r.Answer) == "" {
		return reply{}, errNoAnswer
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
	return r, nil
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

// grounded refuses an answer that the record does not support: one given without
// reading, one whose citations all name texts that were not read, and one without
// citations that has figures of which no text that was read, nor the question, has any. An
// answer without figures needs no citation: "the record does not say" has none.
func (d *Delegator) grounded(ctx context.Context, r Request, g *Grant, said reply) error {
	read, err := g.account(ctx)
	if err != nil {
		return err
	}
	if len(read.order) == 0 {
		return &rejection{errGround, "nothing of the record was read", "Call lcm_expand with the payload of the task first."}
	}
	hint := "You have read " + strings.Join(read.order[:min(len(read.order), shownIDs)], ", ") + "."
	if len(said.CitedIDs) > 0 {
		if slices.ContainsFunc(said.CitedIDs, func(id string) bool { _, ok := read.cite(id); return ok }) {
			return nil
		}
		return &rejection{errGround, fmt.Sprintf("it cites %s, and nothing of that was read", prose.Clip(strings.Join(said.CitedIDs, ", "), 120)), hint}
	}
	if figure, ok := read.unsupported(said.Answer, r.Prompt+" "+r.Query); ok {
		return &rejection{errGround, fmt.Sprintf("it cites nothing, and nothing that was read says %q", prose.Clip(figure, 60)), hint}
	}
	return nil
}

// figures finds words with a digit: numbers, dates, versions, ids.
var figures = lazyregexp.New(`[\pL\pN_./:-]*\pN[\pL\pN_./:-]*`)

// unsupported returns a figure of an answer that stands neither in a served text nor in
// the question.
func (r *reading) unsupported(answer, question string) (string, bool) {
	known := strings.Builder{}
	known.WriteString(question)
	for _, id := range r.order {
		known.WriteString(" " + id)
		for _, text := range r.byID[id].passages() {
			known.WriteString(" " + text)
		}
	}
	low := strings.ToLower(known.String())
	for _, figure := range figures().FindAllString(answer, -1) {
		if figure = strings.Trim(figure, "./:-_"); !strings.Contains(low, strings.ToLower(figure)) {
			return figure, true
		}
	}
	return "", false
}
