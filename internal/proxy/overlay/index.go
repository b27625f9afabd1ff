package overlay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Index finds stored messages of one conversation by their anchors. Its messages are
// numbered from 0 in the order of the conversation.
type Index struct {
	ids     []store.MessageID
	kinds   []kind
	byID    map[store.MessageID]int32
	calls   map[apiform.Key]int32
	results map[apiform.Key]int32
	texts   map[apiform.Key][]int32
	// quoted are beginnings of users' texts, by number: a host may wrap a prompt
	// that was typed while the model worked.
	quoted  map[int32]string
	prompts map[int32]bool                  // the texts of the user, by number
	hosts   map[apiform.Key]store.MessageID // the host's own summaries
	tokens  []int32                         // of each message, as the record counts, with externalised text
	seq     int64
}

// kind says whether a request must have a stored message.
type kind byte

const (
	// absent messages may be missing from a request: bookkeeping of a host, a
	// record without text, a call without a result. When a host is killed while a
	// command runs, it leaves the call out of all later requests, or sends a result
	// that it has made up.
	absent kind = iota
	// present messages must be in it.
	present
)

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{
		byID: map[store.MessageID]int32{}, calls: map[apiform.Key]int32{}, results: map[apiform.Key]int32{},
		texts: map[apiform.Key][]int32{}, quoted: map[int32]string{}, prompts: map[int32]bool{}, hosts: map[apiform.Key]store.MessageID{},
	}
}

// Seq is the number of the last message that was added, in its conversation.
func (ix *Index) Seq() int64 { return ix.seq }

// Has reports whether a message was added.
func (ix *Index) Has(id store.MessageID) bool { _, ok := ix.byID[id]; return ok }

// Tokens is the size of a message in a request, as the record counts: a host sends the text whole
// to which the record has a reference. It is 0 if the message was not added.
func (ix *Index) Tokens(id store.MessageID) int {
	n, ok := ix.byID[id]
	if !ok {
		return 0
	}
	return int(ix.tokens[n])
}

// Inherit adds a message that the conversation shares with the one it was forked from.
func (ix *Index) Inherit(m store.Message) {
	seq := ix.seq
	ix.Add(m)
	ix.seq = seq
}

// maxQuoted bounds the beginning of a text that is kept.
const maxQuoted = 256

// Add adds the next message of the conversation.
func (ix *Index) Add(m store.Message) {
	n := int32(len(ix.ids))
	ix.ids = append(ix.ids, m.ID)
	ix.byID[m.ID] = n
	tokens := m.Tokens
	for _, ref := range store.Refs(m.Body.Parts) {
		tokens += ref.Tokens
	}
	ix.tokens = append(ix.tokens, int32(tokens))
	ix.seq = m.Seq
	must := absent
	for _, p := range m.Body.Parts {
		switch {
		case p.Kind == llms.PartToolCall && p.Call != nil && p.Call.ID != "":
			ix.calls[apiform.CallKey(p.Call.ID)] = n
		case p.Kind == llms.PartToolResult && p.Result != nil && p.Result.CallID != "":
			key := apiform.CallKey(p.Result.CallID)
			ix.results[key] = n
			must = present
			if call, ok := ix.calls[key]; ok && call < n {
				ix.kinds[call] = present
			}
		case p.Kind == llms.PartText && m.Flags&store.FlagHidden == 0:
			if ix.text(n, m, p) && m.Flags.Said() {
				must = present
			}
		}
	}
	ix.kinds = append(ix.kinds, must)
}

// text adds the anchor of a text. An externalised one has the beginning of its hash, white space
// around it included, in the name of its payload.
func (ix *Index) text(n int32, m store.Message, p llms.Part) bool {
	var key apiform.Key
	text := strings.TrimSpace(p.Text)
	switch {
	case p.Ref != nil:
		n, err := strconv.ParseUint(strings.TrimPrefix(p.Ref.ID, "file_"), 16, 64)
		if err != nil {
			return false
		}
		key = apiform.Key(n)
	case text == "":
		return false
	default:
		key = apiform.TextKey([]byte(text))
	}
	ix.texts[key] = append(ix.texts[key], n)
	if m.Flags&store.FlagHostSummary != 0 {
		ix.hosts[key] = m.ID
	}
	if m.Body.Role == llms.RoleUser && m.Flags.Said() {
		ix.prompts[n] = true
	}
	if m.Body.Role == llms.RoleUser && p.Ref == nil {
		ix.quoted[n] = text[:min(len(text), maxQuoted)]
	}
	return true
}

// isPrompt reports whether message n is a text of the user. Hosts write texts in the
// user's name as well: "Continue from where you left off."
func (ix *Index) isPrompt(n int32) bool { return ix.prompts[n] }

// HostSummary returns the message with a text if it is a summary that the host wrote,
// else 0.
func (ix *Index) HostSummary(key apiform.Key) store.MessageID { return ix.hosts[key] }

// textBetween returns the first message with a text after message n and before
// message end.
func (ix *Index) textBetween(key apiform.Key, n, end int32) (int32, bool) {
	at := ix.texts[key]
	i, _ := slices.BinarySearch(at, n+1)
	if i == len(at) || at[i] >= end {
		return 0, false
	}
	return at[i], true
}

// Density is how many tokens, as the record counts, a unit of the request has, or 0 if
// that is unknown.
func (ix *Index) Density(r *apiform.Request) float64 {
	units, tokens := 0, 0
	counted := map[int32]bool{} // opencode keeps a call and its result in one record
	for i := range r.Messages {
		m := &r.Messages[i]
		found := false
		count := func(in map[apiform.Key]int32, keys []apiform.Key) {
			for _, k := range keys {
				n, ok := in[k]
				if !ok {
					continue
				}
				if !counted[n] {
					tokens += int(ix.tokens[n])
				}
				found, counted[n] = true, true
			}
		}
		count(ix.calls, m.Calls)
		count(ix.results, m.Results)
		if found {
			units += m.Units
		}
	}
	if units == 0 {
		return 0
	}
	return float64(tokens) / float64(units)
}

// Calls returns how many calls of a request the record has.
func (ix *Index) Calls(r *apiform.Request) (n int) {
	for i := range r.Messages {
		for _, k := range r.Messages[i].Calls {
			if _, ok := ix.calls[k]; ok {
				n++
			}
		}
	}
	return n
}

// HasAll reports whether the record has every call and result of a request.
func (ix *Index) HasAll(r *apiform.Request) bool {
	for i := range r.Messages {
		for _, k := range r.Messages[i].Calls {
			if _, ok := ix.calls[k]; !ok {
				return false
			}
		}
		for _, k := range r.Messages[i].Results {
			if _, ok := ix.results[k]; !ok {
				return false
			}
		}
	}
	return true
}

// Last returns the newest stored message that a request has, or 0.
func (ix *Index) Last(r *apiform.Request) store.MessageID {
	l := &layer{plan: NewPlan(ix, nil), req: r, ix: ix}
	l.link()
	for n := len(l.place) - 1; n >= 0; n-- {
		if l.place[n] != none {
			return ix.ids[n]
		}
	}
	return 0
}
