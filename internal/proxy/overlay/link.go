package overlay

import (
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// layer is one call of Lay.
type layer struct {
	plan *Plan
	req  *apiform.Request
	ix   *Index
	o    Options

	calls, results map[apiform.Key]int32 // the message of each call and result
	links          [][]int32             // of each message, the stored messages in it
	carried        [][]apiform.Text      // of each message, the texts that the record lacks
	partial        []bool                // the message has something that the record lacks
	place          []int32               // of each stored message, a message that it is in
	newest         int32                 // the last stored message that is surely in the request, or none
	owner          []int32               // of each stored message, the node whose summary is used for it
	drop           []bool                // of each message
	prompt         int32                 // the message with the prompt that stays beside its summary, or -1
	from, first    int32                 // the stored messages that the host has cut off, after a checkpoint
	front          int32                 // the message before which they are said
	shown          []bool                // of each node, its summary is in an edit
	told           bool                  // what the host has cut off was said
	last           int32                 // the node that was shown last, or none
	after          map[int32]int32       // by node, the message after which its summary is shown
}

// pair finds the message of each call and result.
func (l *layer) pair() error {
	n := len(l.req.Messages)
	l.calls, l.results = make(map[apiform.Key]int32, n/2), make(map[apiform.Key]int32, n/2)
	for i := range l.req.Messages {
		m := &l.req.Messages[i]
		for _, k := range m.Calls {
			if _, twice := l.calls[k]; twice {
				return errTwice
			}
			l.calls[k] = int32(i)
		}
		for _, k := range m.Results {
			if _, twice := l.results[k]; twice {
				return errTwice
			}
			l.results[k] = int32(i)
		}
	}
	return nil
}

// link finds the stored messages of each message: by the ids of calls and results,
// then by texts between them.
func (l *layer) link() {
	ms := l.req.Messages
	l.links, l.carried, l.partial = make([][]int32, len(ms)), make([][]apiform.Text, len(ms)), make([]bool, len(ms))
	room := make([]int32, 0, len(ms)*2) // of the links, to allocate once
	l.place = make([]int32, len(l.ix.ids))
	for i := range l.place {
		l.place[i] = none
	}
	l.newest = none
	for i := range ms {
		from := len(room)
		for _, k := range ms[i].Calls {
			room = l.linkTo(i, room, l.ix.calls, k)
		}
		for _, k := range ms[i].Results {
			room = l.linkResult(i, room, k)
		}
		l.links[i] = room[from:len(room):len(room)]
	}
	// ends[i] is the first stored message that a later message has by its ids.
	ends := make([]int32, len(ms))
	end := int32(math.MaxInt32)
	for i := len(ms) - 1; i >= 0; i-- {
		ends[i] = end
		for _, n := range l.links[i] {
			end = min(end, n)
		}
	}
	last, after := none, l.afterCut()
	for i := range ms {
		last = max(last, after[i])
		l.linkTexts(i, last, ends[i])
		for _, n := range l.links[i] {
			last = max(last, n)
		}
	}
}

// afterCut returns, by message, a stored message before its texts, as far as that is known where the host may
// have cut off the beginning: a text that repeats would be found there. It goes back from the first
// message of the request that is surely one of the record, by an id or by a text that stands there once.
func (l *layer) afterCut() []int32 {
	ms := l.req.Messages
	after := slices.Repeat([]int32{none}, len(ms))
	if l.o.Cut == nil {
		return after
	}
	at, end := -1, none
	for i := 0; i < len(ms) && at < 0; i++ {
		if len(l.links[i]) > 0 {
			at, end = i, slices.Min(l.links[i])+1 // its texts may be in the same record
		}
		for k, t := range ms[i].Texts {
			if same := l.ix.texts[t.Key]; at < 0 && len(same) == 1 {
				at, end = i, same[0]+int32(len(ms[i].Texts)-k)
			}
		}
	}
	for ; at >= 0; at-- {
		for _, t := range slices.Backward(ms[at].Texts) {
			same := l.ix.texts[t.Key]
			if n, _ := slices.BinarySearch(same, end); n > 0 {
				end = same[n-1]
				after[at] = end - 1
			}
		}
	}
	return after
}

func (l *layer) linkTo(i int, room []int32, in map[apiform.Key]int32, k apiform.Key) []int32 {
	n, ok := in[k]
	if !ok {
		l.partial[i] = true
		return room
	}
	l.place[n], l.newest = int32(i), max(l.newest, n)
	return append(room, n)
}

// linkResult finds the stored message of a result. When a host was killed while a command
// ran, it sends a result that it has made up and not stored. That result belongs to the
// stored call, and its text is said again.
func (l *layer) linkResult(i int, room []int32, k apiform.Key) []int32 {
	if _, stored := l.ix.results[k]; !stored {
		call, ok := l.ix.calls[k]
		if text, plain := l.req.Messages[i].Output(k); ok && plain {
			l.carried[i] = append(l.carried[i], text)
			return append(room, call)
		}
	}
	return l.linkTo(i, room, l.ix.results, k)
}

// linkTexts finds the texts of message i among the stored messages after last and
// before end.
func (l *layer) linkTexts(i int, last, end int32) {
	m := &l.req.Messages[i]
	for _, t := range m.Texts {
		if m.Role == apiform.System {
			return
		}
		key := t.Key
		n, ok := l.ix.textBetween(key, last, end)
		if !ok { // it may be externalised
			key = t.Whole
			n, ok = l.ix.textBetween(key, last, end)
		}
		switch {
		case ok:
			l.links[i] = append(l.links[i], n)
			l.place[n] = int32(i)
			last = n
			if len(l.ix.texts[key]) == 1 { // a text that repeats may be another message
				l.newest = max(l.newest, n)
			}
		case m.Role == apiform.Assistant:
			l.partial[i] = true
		default:
			l.carried[i] = append(l.carried[i], t)
		}
	}
}

// cut finds the messages that the host has cut off: those before the first one of the request. Messages that
// the record does not know, such as a first prompt that the host has wrapped, may be some of them.
func (l *layer) cut() {
	if l.o.Cut == nil || len(l.ix.ids) == 0 {
		return
	}
	first := slices.IndexFunc(l.place, func(i int32) bool { return i != none })
	if first < 0 {
		first = len(l.ix.ids)
	} else {
		l.front = int32(slices.IndexFunc(l.links, func(links []int32) bool { return slices.Contains(links, int32(first)) }))
	}
	off := 0
	for n := range first {
		if l.missing(int32(n)) {
			off++
		}
	}
	for int(l.front) < len(l.req.Messages)-1 && l.req.Messages[l.front].Role == apiform.System {
		l.front++
	}
	if off > int(l.front) {
		l.first = int32(first)
		l.from = int32(max(0, slices.IndexFunc(l.ix.ids, func(id store.MessageID) bool { return id > l.o.Checkpoint })))
		l.o.Checkpoint = max(l.o.Checkpoint, l.ix.ids[first-1])
	}
}

// maxQuotes bounds how many stored texts are searched for in a request.
const maxQuotes = 64

// quotes finds prompts that the host has wrapped in a text of its own. The text is said
// again, so nothing depends on it.
func (l *layer) quotes() {
	left := maxQuotes
	for _, n := range l.plan.messages {
		if !l.missing(n) {
			continue
		}
		if left--; left < 0 {
			return
		}
		l.quote(n)
	}
}

// missing reports whether a stored message has to be in the request and is not.
func (l *layer) missing(n int32) bool {
	return l.place[n] == none && l.ix.kinds[n] == present && l.ix.ids[n] > l.o.Checkpoint
}

// rewound reports whether a message is missing because the host went back to one before
// it, and the record has not heard of it yet. After it has, the plan no longer covers the
// message. Any other message that is missing was left out by the host.
func (l *layer) rewound(n int32) bool { return n > l.newest && l.missing(n) }

func (l *layer) quote(n int32) {
	text, ok := l.ix.quoted[n]
	if !ok {
		return
	}
	from, to := 0, len(l.req.Messages)-1
	for k := n - 1; k >= 0; k-- {
		if l.place[k] != none {
			from = int(l.place[k])
			break
		}
	}
	for k := int(n) + 1; k < len(l.place); k++ {
		if l.place[k] != none {
			to = int(l.place[k])
			break
		}
	}
	for i := from; i <= to && i < len(l.req.Messages); i++ {
		for _, t := range l.carried[i] {
			if strings.Contains(t.String(), text) {
				l.links[i] = append(slices.Clip(l.links[i]), n)
				l.place[n] = int32(i)
				return
			}
		}
	}
}
