package assemble

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/llms"
)

// missingResult answers a call whose result was never recorded: providers
// refuse a call without one.
const missingResult = "[no result was recorded for this call: it may have taken effect]"

// namer gives call ids that occur more than once names of their own. Hosts
// that number calls from one in every turn repeat ids, and providers refuse
// that.
type namer struct {
	used map[string]int // id → how often it was asked for
}

func newNamer() *namer { return &namer{used: map[string]int{}} }

func (n *namer) name(id string) string {
	name := id
	for n.used[name] > 0 {
		n.used[id]++
		name = id + "_" + strconv.Itoa(n.used[id])
	}
	n.used[name]++
	return name
}

// call and result are parts of a group's messages, by the indices of message
// and part.
type call struct {
	msg, part int
	id, name  string // as recorded, as sent
	tool      string
	result    *result
}

type result struct {
	msg, part int
	call      *call
}

// repair makes the messages of a group valid: results directly follow their
// calls, one for each, and nothing is empty. Valid messages are left as
// they are. It returns a list of its changes.
func repair(group []entry, names *namer) ([]entry, []string) {
	touchy := func(p llms.Part) bool {
		return p.Kind == llms.PartToolCall || p.Kind == llms.PartToolResult || blank(p)
	}
	if parts := group[0].msg.Parts; len(group) == 1 && len(parts) > 0 && !slices.ContainsFunc(parts, touchy) {
		return group, nil // most groups are one message that says something
	}
	r := repairer{group: group, done: make([]bool, len(group))}
	r.match(names)
	for i := range group {
		if r.done[i] {
			continue
		}
		r.emit(i, r.kept(i))
		r.answer(i)
	}
	return r.out, r.notes
}

type repairer struct {
	group   []entry
	calls   []*call
	results []*result
	done    []bool // messages that were sent ahead of their place
	out     []entry
	notes   []string
}

func (r *repairer) note(i int, format string, args ...any) {
	m := r.group[i].msg
	who := string(m.Role) + " message"
	if m.ID != "" {
		who += " " + strconv.Quote(m.ID)
	}
	r.notes = append(r.notes, who+": "+fmt.Sprintf(format, args...))
}

// match finds the result of each call.
func (r *repairer) match(names *namer) {
	open := map[string]*call{}
	early := map[string]*result{}
	for i, e := range r.group {
		for k, p := range e.msg.Parts {
			switch {
			case isCall(p):
				c := &call{msg: i, part: k, id: p.Call.ID, name: names.name(p.Call.ID), tool: p.Call.Name}
				r.calls = append(r.calls, c)
				open[c.id] = c
			case isResult(p):
				res := &result{msg: i, part: k}
				r.results = append(r.results, res)
				id := p.Result.CallID
				switch c := open[id]; {
				case c == nil && early[id] == nil:
					early[id] = res
				case c != nil && (c.result == nil || r.standIn(c.result) && !r.standIn(res)):
					if c.result != nil {
						c.result.call = nil
					}
					c.result, res.call = res, c
				}
			}
		}
	}
	for _, c := range r.calls {
		if res := early[c.id]; c.result == nil && res != nil && res.call == nil {
			c.result, res.call = res, c
		}
	}
	for _, res := range r.results {
		if res.call == nil {
			r.note(res.msg, "left out a result that answers no call")
		}
	}
}

// standIn reports whether a result is the error that stands in for a missing
// one. Hosts record the messages they were sent, so it may come back.
func (r *repairer) standIn(res *result) bool {
	out := r.group[res.msg].msg.Parts[res.part].Result.Output
	return len(out) == 1 && out[0].Text == missingResult
}

func isCall(p llms.Part) bool   { return p.Kind == llms.PartToolCall && p.Call != nil && p.Call.ID != "" }
func isResult(p llms.Part) bool { return p.Kind == llms.PartToolResult && p.Result != nil }

// kept returns the parts of a message that are sent in its own place: all but
// tool results and blank ones.
func (r *repairer) kept(i int) []int {
	var kept []int
	parts := r.group[i].msg.Parts
	for k, p := range parts {
		switch {
		case isResult(p) || blank(p):
		case p.Kind == llms.PartToolCall && !isCall(p):
			r.note(i, "left out a call without an id")
		default:
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 && !slices.ContainsFunc(parts, isResult) {
		r.note(i, "left out, because it is empty")
	}
	return kept
}

// blank reports whether a part says nothing; providers refuse blank text.
func blank(p llms.Part) bool {
	switch p.Kind {
	case llms.PartText:
		return p.Ref == nil && strings.TrimSpace(p.Text) == ""
	case llms.PartReasoning:
		return p.Ref == nil && p.Text == "" && p.Signature == "" && len(p.Extra) == 0
	case llms.PartBlob:
		return p.Ref == nil && p.Blob == nil
	case llms.PartToolCall, llms.PartToolResult:
		return p.Call == nil && p.Result == nil
	}
	return len(p.Extra) == 0
}

// emit sends the given parts of a message, if there are any. A message that
// is sent whole is sent as it was recorded.
func (r *repairer) emit(i int, parts []int) {
	if len(parts) == 0 {
		return
	}
	e := r.group[i]
	if !r.changed(i, parts) {
		r.out = append(r.out, e)
		return
	}
	from := e.msg.Parts
	e.msg.Parts = make([]llms.Part, 0, len(parts))
	e.msg.Raw = llms.Raw{Format: e.msg.Raw.Format}
	e.changed = true
	for _, k := range parts {
		e.msg.Parts = append(e.msg.Parts, r.renamed(i, k, from[k]))
	}
	if e.msg.Role == llms.RoleAssistant && isResult(e.msg.Parts[0]) {
		e.msg.Role = llms.RoleTool // of a record that is the call and its result
	}
	r.out = append(r.out, e)
}

// changed reports whether the parts to be sent are not the message as it was
// recorded.
func (r *repairer) changed(i int, parts []int) bool {
	if len(parts) != len(r.group[i].msg.Parts) {
		return true
	}
	for n, k := range parts {
		if n != k || r.nameOf(i, k) != recordedName(r.group[i].msg.Parts[k]) {
			return true
		}
	}
	return false
}

func recordedName(p llms.Part) string {
	switch {
	case isCall(p):
		return p.Call.ID
	case isResult(p):
		return p.Result.CallID
	}
	return ""
}

// nameOf returns the call id that a part is sent with.
func (r *repairer) nameOf(i, k int) string {
	for _, c := range r.calls {
		if (c.msg == i && c.part == k) || (c.result != nil && c.result.msg == i && c.result.part == k) {
			return c.name
		}
	}
	return ""
}

func (r *repairer) renamed(i, k int, p llms.Part) llms.Part {
	name := r.nameOf(i, k)
	switch {
	case isCall(p) && p.Call.ID != name:
		c := *p.Call
		c.ID, p.Call = name, &c
	case isResult(p) && p.Result.CallID != name:
		res := *p.Result
		res.CallID, p.Result = name, &res
	}
	return p
}

// answer sends the results of the calls of message i, then an error for each
// call that has none. A message that says something beside its results comes
// last, and only if nothing was said in between; otherwise it is sent in two.
func (r *repairer) answer(i int) {
	var sources []int // messages with results, in order
	parts := map[int][]int{}
	var missing []*call
	for _, c := range r.calls {
		switch {
		case c.msg != i:
		case c.name != c.id:
			r.note(i, "call %s was used before and is sent as %s", c.id, c.name)
			fallthrough
		default:
			if c.result == nil {
				missing = append(missing, c)
				continue
			}
			j := c.result.msg
			if parts[j] == nil {
				sources = append(sources, j)
			}
			parts[j] = append(parts[j], c.result.part)
		}
	}
	slices.Sort(sources)
	mixed := -1
	for n, j := range sources {
		slices.Sort(parts[j])
		rest := r.beside(j)
		switch {
		case r.whole(j, parts[j]) && len(rest) == 0:
			if !r.next(i, j) {
				r.note(j, "moved to its calls")
			}
			r.done[j] = true
			r.emit(j, parts[j])
		case r.whole(j, parts[j]) && n == len(sources)-1 && r.next(i, j) && !r.hasCalls(j):
			r.done[j] = true
			mixed = j
			if rest[0] < parts[j][len(parts[j])-1] {
				r.note(j, "results were moved before what else it says")
			}
			parts[j] = append(parts[j], rest...)
		default:
			if j != i {
				r.note(j, "results were moved to their calls")
			}
			r.emit(j, parts[j])
		}
	}
	for _, c := range missing {
		r.note(i, "call %s has no result; an error stands in for it", c.id)
		e := entry{msg: llms.Result(c.name, c.tool, missingResult, true), item: r.group[i].item, changed: true}
		e.msg.Time = r.group[i].msg.Time
		r.out = append(r.out, e)
	}
	if mixed >= 0 {
		r.emit(mixed, parts[mixed])
	}
}

// whole reports whether the given parts are all results of message j.
func (r *repairer) whole(j int, parts []int) bool {
	n := 0
	for _, p := range r.group[j].msg.Parts {
		if isResult(p) {
			n++
		}
	}
	return n == len(parts)
}

// beside returns the parts of message j that are not results.
func (r *repairer) beside(j int) []int {
	var rest []int
	for k, p := range r.group[j].msg.Parts {
		if !isResult(p) && !blank(p) {
			rest = append(rest, k)
		}
	}
	return rest
}

func (r *repairer) hasCalls(j int) bool {
	return slices.ContainsFunc(r.group[j].msg.Parts, func(p llms.Part) bool { return p.Kind == llms.PartToolCall })
}

// next reports whether everything between messages i and j was sent.
func (r *repairer) next(i, j int) bool { return i < j && !slices.Contains(r.done[i+1:j], false) }
