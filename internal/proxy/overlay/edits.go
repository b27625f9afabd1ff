package overlay

import (
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Said where messages give way to a summary that is shown elsewhere.
const (
	shownAbove = "[The messages that stood here are part of the summary above.]"
	shownBelow = "[The messages that stood here are part of the next summary.]"
)

// noRoom is said before what a host has cut off, where some of it has no room.
const noRoom = "[Earlier messages are not summarised yet and have no room here; look them up.]"

// edits makes the edits of the messages that are dropped.
func (l *layer) edits() (Laid, error) {
	var out Laid
	said := l.absorbed()
	skip := l.oldReminders(said)
	l.shown, l.last, l.after = make([]bool, len(l.plan.nodes)), none, l.showAfter()
	ms := l.req.Messages
	for i := 0; i < len(ms); {
		e := apiform.Edit{From: i}
		if err := l.showBehindCut(&out, &e, i); err != nil {
			return Laid{}, err
		}
		if !l.drop[i] && !said[i] && len(e.Say) == 0 {
			i++
			continue
		}
		for ; i < len(ms) && (l.drop[i] || said[i]); i++ {
			if err := l.showBehindCut(&out, &e, i); err != nil {
				return Laid{}, err
			}
			out.Dropped++
			out.Removed += ms[i].Units
			slices.Sort(l.links[i])
			for _, n := range l.links[i] {
				if k := l.owner[n]; l.drop[i] && int32(i) >= l.after[k] {
					if err := l.show(&out, &e, k); err != nil {
						return Laid{}, err
					}
				}
			}
			e.Say = append(e.Say, l.sayAgain(i, said[i], skip)...)
		}
		e.To = i
		if len(e.Say) == 0 {
			e.Say = []string{shownAbove}
			if l.pendingAt(e.From) {
				e.Say = []string{shownBelow}
			}
		}
		if len(out.Edits) == 0 && l.o.Intro != "" {
			e.Say = slices.Insert(e.Say, 0, l.o.Intro)
		}
		out.Added += apiform.UnitsOf(e.Say)
		out.Edits = append(out.Edits, e)
	}
	return out, nil
}

// show says the summary of node k in an edit, once.
func (l *layer) show(out *Laid, e *apiform.Edit, k int32) error {
	if l.shown[k] {
		return nil
	}
	if k < l.last {
		return errOrder
	}
	l.last, l.shown[k] = k, true
	cover := l.plan.nodes[k].cover
	out.Used = append(out.Used, cover)
	e.Say = append(e.Say, cover.Text)
	if note := l.leftOut(k); note != "" {
		e.Say = append(e.Say, note)
	}
	return nil
}

// showBehindCut says before a message what the host has cut off before it: summaries, and the newest of the messages
// that have none.
func (l *layer) showBehindCut(out *Laid, e *apiform.Edit, i int) error {
	if l.told || int32(i) != l.front || l.first == 0 {
		return nil
	}
	l.told, out.Cut = true, true
	finest := make([]int32, l.first)
	for n := range finest {
		finest[n] = none
	}
	for k, node := range l.plan.nodes {
		beneath := l.plan.beneath(int32(k))
		if node.cover.Text == "" || slices.ContainsFunc(beneath, l.rewound) {
			continue
		}
		for _, n := range beneath {
			if n < l.first {
				finest[n] = int32(k)
			}
		}
	}
	room := l.looseFrom(finest)
	if room > l.from {
		e.Say = append(e.Say, noRoom)
	}
	for n := l.from; n < l.first; n++ {
		k := l.owner[n]
		if k == none {
			k = finest[n]
		}
		if k == none {
			if text := l.o.Cut(l.ix.ids[n]); n >= room && text != "" {
				e.Say = append(e.Say, text)
			} else if l.ix.kinds[n] == present {
				out.Lost++
			}
		} else if _, later := l.after[k]; !later {
			l.last = none // a summary has messages of its own and others beneath it, in any order
			if err := l.show(out, e, k); err != nil {
				return err
			}
		}
	}
	l.last = none
	return nil
}

// looseFrom returns the first of the messages without a summary for whose texts there is room: half of
// the budget, or what the request leaves of it.
func (l *layer) looseFrom(finest []int32) int32 {
	size, most := 0, max(l.o.MaxStay, (2*l.o.MaxStay-l.req.Units)*3/4)
	for n := l.first - 1; n >= l.from; n-- {
		if l.owner[n] == none && finest[n] == none {
			if size += len(l.o.Cut(l.ix.ids[n])); l.o.MaxStay > 0 && size > most {
				return n + 1
			}
		}
	}
	return l.from
}

// maxLeftOut bounds how many messages that the host left out are named.
const maxLeftOut = 10

// leftOut names the messages beneath node k that the host no longer sends, or returns "".
func (l *layer) leftOut(k int32) string {
	var ids []store.MessageID
	for _, n := range l.plan.beneath(k) {
		if l.missing(n) {
			ids = append(ids, l.ix.ids[n])
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("[The agent has left out %d of the messages of this summary, so they may no longer count: %s.]", len(ids), prose.Join(ids, ", ", maxLeftOut))
}

// showAfter returns, by node, the message after which its summary is shown. A prompt that
// stays beside its summary stands before it: after the work on it, it would read like a new
// one. If nothing of the summary's is dropped after the prompt, the summary is shown at its
// first message.
func (l *layer) showAfter() map[int32]int32 {
	after := map[int32]int32{}
	if l.prompt < 0 {
		return after
	}
	for i := l.prompt + 1; int(i) < len(l.drop); i++ {
		for _, n := range l.links[i] {
			if l.drop[i] && slices.ContainsFunc(l.links[l.prompt], func(p int32) bool { return l.owner[p] == l.owner[n] }) {
				after[l.owner[n]] = l.prompt
			}
		}
	}
	return after
}

// pendingAt reports whether the summary of dropped message i is not shown yet.
func (l *layer) pendingAt(i int) bool {
	return slices.ContainsFunc(l.links[i], func(n int32) bool { return l.drop[i] && !l.shown[l.owner[n]] })
}

// absorbed finds the system messages of an Anthropic request whose next message is
// dropped. They may stand only between a user message and an answer, so they are said
// as reminders.
func (l *layer) absorbed() []bool {
	ms := l.req.Messages
	said := make([]bool, len(ms))
	if l.req.Form != apiform.Messages {
		return said
	}
	for i := len(ms) - 2; i >= 0; i-- {
		said[i] = ms[i].Role == apiform.System && (l.drop[i+1] || said[i+1])
	}
	return said
}

// again returns the texts of a message that goes which no summary covers. All texts of a
// system message are such.
func (l *layer) again(i int, system bool) []apiform.Text {
	if system {
		return l.req.Messages[i].Texts
	}
	return l.carried[i]
}

// oldReminders returns, by reminder of the messages that go, the message that says it, or -1
// for the oldest where there are too many.
func (l *layer) oldReminders(said []bool) map[apiform.Key]int {
	first := map[apiform.Key]int{}
	var order []apiform.Text
	total := 0
	for i := range l.req.Messages {
		if !l.drop[i] && !said[i] {
			continue
		}
		for _, t := range l.again(i, said[i]) {
			if _, known := first[t.Key]; !known && (said[i] || t.Reminder) {
				first[t.Key] = i
				order = append(order, t)
				total += len(t.String())
			}
		}
	}
	for _, t := range order {
		if l.o.MaxReminders <= 0 || total <= l.o.MaxReminders {
			break
		}
		total -= len(t.String())
		first[t.Key] = -1
	}
	return first
}

// sayAgain returns the texts of a message that goes and that no summary covers.
func (l *layer) sayAgain(i int, system bool, first map[apiform.Key]int) (say []string) {
	for _, t := range l.again(i, system) {
		text := t.String()
		switch {
		case system || t.Reminder:
			if first[t.Key] != i {
				continue
			}
			first[t.Key] = -1 // once
			if system {
				text = "<system-reminder>\n" + text + "\n</system-reminder>"
			}
		case text == "":
			continue
		}
		say = append(say, text)
	}
	return say
}
