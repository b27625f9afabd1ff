package wire

import "github.com/lossless-context/lcm/llms"

// quickLCM reads a record as encodeLCM writes it: members in their order,
// nothing between them. That is nearly every record that a store holds in this
// shape, and one walk over its bytes both checks and reads it. It says false
// of everything else, also of what it does not know, for decodeLCM to read or to
// refuse.
func quickLCM(record []byte) (m llms.Message, ok bool) {
	q := quick{b: record}
	if !q.is(`{"lcm":1,"role":"`) {
		return m, false
	}
	for _, role := range [...]llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleSystem, llms.RoleTool} {
		if q.is(string(role) + `"`) {
			m.Role = role
			break
		}
	}
	if m.Role == "" {
		return m, false
	}
	if q.is(`,"id":`) {
		m.ID = q.str()
	}
	if q.is(`,"time":`) {
		if t := readTime(q.literal()); !t.IsZero() {
			m.Time = t
		}
	}
	if !q.is(`,"parts":`) {
		return m, false
	}
	m.Parts = q.parts(0)
	return m, q.is(`}`) && !q.bad && q.i == len(record)
}

// quick is a place in a record. Once something was not as expected it is bad,
// and what it returned is void.
type quick struct {
	b   []byte
	i   int
	bad bool
}

// is reports whether want stands here, and steps over it.
func (q *quick) is(want string) bool {
	if rest := q.b[q.i:]; len(rest) < len(want) || string(rest[:len(want)]) != want {
		return false
	}
	q.i += len(want)
	return true
}

func (q *quick) need(want string) {
	if !q.is(want) {
		q.bad = true
	}
}

// literal steps over a string and returns it with its quotes, `""` if there is
// none.
func (q *quick) literal() []byte {
	from := q.i
	if from < len(q.b) && q.b[from] == '"' {
		if end, err := checkString(q.b, from); err == nil {
			q.i = end
			return q.b[from:end]
		}
	}
	q.bad = true
	return []byte(`""`)
}

func (q *quick) str() string {
	// Most have no escapes.
	if from := q.i + 1; from <= len(q.b) && q.b[q.i] == '"' {
		if end := plainRun(q.b, from); end < len(q.b) && q.b[end] == '"' {
			q.i = end + 1
			return string(q.b[from:end])
		}
	}
	return unquote(q.literal())
}

// member reads a string that may be there: as the first of its object, or
// after others.
func (q *quick) member(name string, first *bool) string {
	if !q.named(name, first) {
		return ""
	}
	return q.str()
}

func (q *quick) named(name string, first *bool) bool {
	lead := `,"`
	if *first {
		lead = `{"`
	}
	at := q.i
	if q.is(lead) && q.is(name) && q.is(`":`) {
		*first = false
		return true
	}
	q.i = at
	return false
}

// end steps over the end of an object.
func (q *quick) end(first bool) {
	if first {
		q.need(`{}`)
	} else {
		q.need(`}`)
	}
}

func (q *quick) parts(depth int) (list []llms.Part) {
	if q.need(`[`); depth > partDepth {
		q.bad = true
	}
	if q.is(`]`) {
		return nil
	}
	for more := true; more && !q.bad; more = q.is(`,`) {
		list = append(list, q.part(depth))
	}
	q.need(`]`)
	return list
}

func (q *quick) part(depth int) (p llms.Part) {
	q.need(`{"kind":`)
	p.Kind = q.kind()
	if q.is(`,"text":`) {
		p.Text = q.str()
	}
	if q.is(`,"call":`) {
		first := true
		p.Call = &llms.ToolCall{ID: q.member("id", &first), Name: q.member("name", &first), Arguments: q.member("arguments", &first)}
		q.end(first)
	}
	if q.is(`,"result":`) {
		first := true
		r := &llms.ToolResult{CallID: q.member("call_id", &first), Name: q.member("name", &first)}
		if q.named("is_error", &first) {
			q.need(`true`)
			r.IsError = true
		}
		if q.named("output", &first) {
			r.Output = q.parts(depth + 1)
		}
		p.Result = r
		q.end(first)
	}
	q.need(`}`)
	return p
}

// kind reads a kind, of which there are few.
func (q *quick) kind() llms.PartKind {
	lit := q.literal()
	for _, k := range [...]llms.PartKind{llms.PartText, llms.PartToolCall, llms.PartToolResult, llms.PartReasoning} {
		if string(lit[1:len(lit)-1]) == string(k) {
			return k
		}
	}
	return llms.PartKind(unquote(lit))
}
