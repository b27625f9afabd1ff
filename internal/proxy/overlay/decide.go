package overlay

import (
	"slices"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

// unit is a set of messages that stay or go together: an answer and the results of its
// calls, or one other message.
type unit struct {
	messages []int32
	// stays says that it has a message that always stays, beside its summary.
	stays bool
	// cannot says that it has a message that must not be dropped. No summary covers
	// it in full.
	cannot bool
}

// decide chooses the summaries that are used and the messages that are dropped, so that
// the promises of the package hold.
func (l *layer) decide() {
	units := l.units()
	l.owner = make([]int32, len(l.ix.ids))
	for n := range l.owner {
		l.owner[n] = none
	}
	for k := int32(0); int(k) < len(l.plan.nodes); k = l.plan.nodes[k].end {
		l.use(k)
	}
	for _, u := range units {
		for u.cannot && !u.stays && l.covered(u) {
			l.uncover(u)
		}
	}
	l.drop = make([]bool, len(l.req.Messages))
	for _, u := range units {
		if !u.cannot && !u.stays && l.covered(u) {
			for _, i := range u.messages {
				l.drop[i] = true
			}
		}
	}
}

// use has the summary of node k stand for the messages beneath it or, if the request
// does not allow that, those of the summaries beneath it that it allows.
func (l *layer) use(k int32) {
	n := l.plan.nodes[k]
	if n.cover.Text != "" && !n.unknown && !slices.ContainsFunc(l.plan.beneath(k), l.rewound) && !l.mostlyLeftOut(k) {
		l.plan.own(l.owner, k, k)
		return
	}
	l.useBeneath(k)
}

// mostlyLeftOut reports whether the host has left out more than half of the messages
// beneath node k, and there are summaries beneath it that cover the rest.
func (l *layer) mostlyLeftOut(k int32) bool {
	missing := 0
	for _, n := range l.plan.beneath(k) {
		if l.missing(n) {
			missing++
		}
	}
	return len(l.plan.nodes[k].cover.Summaries) > 0 && missing*2 > len(l.plan.beneath(k))
}

func (l *layer) useBeneath(k int32) {
	for below := k + 1; below < l.plan.nodes[k].end; below = l.plan.nodes[below].end {
		l.use(below)
	}
}

// uncover has the last summary that covers a unit give way to those beneath it.
func (l *layer) uncover(u unit) {
	last := none
	for _, i := range u.messages {
		for _, n := range l.links[i] {
			last = max(last, l.owner[n])
		}
	}
	l.plan.own(l.owner, last, none)
	l.useBeneath(last)
}

// covered reports whether the summaries that are used cover all stored messages of a
// unit.
func (l *layer) covered(u unit) bool { return l.within(u, l.owner) }

func (l *layer) within(u unit, owner []int32) bool {
	found := false
	for _, i := range u.messages {
		for _, n := range l.links[i] {
			if int(n) >= len(owner) || owner[n] == none {
				return false
			}
			found = true
		}
	}
	return found
}

// units divides the messages of the request into units, in order of their first
// messages. A message with results of several answers, or of one after it, stays with all
// of these.
func (l *layer) units() []unit {
	ms := l.req.Messages
	var units []unit
	of := make([]int, len(ms)) // the unit of each message
	for i := range ms {
		of[i] = len(units)
		cannot := l.cannot(i)
		for _, k := range ms[i].Calls {
			at, answered := l.results[k]
			cannot = cannot || !answered || int(at) <= i
		}
		for n, k := range ms[i].Results {
			call, ok := l.calls[k]
			switch {
			case !ok || int(call) >= i:
				cannot = true
			case n == 0:
				of[i] = of[call]
			case of[i] != of[call]:
				cannot, units[of[call]].cannot = true, true
			}
		}
		if of[i] == len(units) {
			units = append(units, unit{})
		}
		u := &units[of[i]]
		u.messages = append(u.messages, int32(i))
		u.cannot = u.cannot || cannot
	}
	l.pin(units)
	return units
}

// cannot reports whether a message must not be dropped, whatever the others are.
func (l *layer) cannot(i int) bool {
	m := &l.req.Messages[i]
	return m.Role == apiform.System || m.Opaque || l.partial[i] || len(l.links[i]) == 0 || i == len(l.req.Messages)-1
}

// pin marks the units that stay beside their summaries: the messages before the first
// answer, and the last prompt that the plan covers. If the plan covers the newest
// prompt, that is the one; else the newest prompt stays because nothing covers it. Those that
// give way (see [Options]) do not stay. But for these, the choice does not depend on how
// the history goes on.
func (l *layer) pin(units []unit) {
	ms := l.req.Messages
	answer := slices.IndexFunc(ms, func(m apiform.Message) bool { return m.Role == apiform.Assistant })
	for k := range units {
		u := &units[k]
		u.stays = l.first == 0 && (answer < 0 || int(u.messages[0]) < answer) && !l.o.GivesWay(l.req, int(u.messages[0]))
	}
	prompt, of := int32(-1), 0 // the message, and its unit
	for k, u := range units {
		if u.cannot || !l.within(u, l.plan.owner) {
			continue
		}
		for _, i := range u.messages {
			if i > prompt && ms[i].Prompt() && slices.ContainsFunc(l.links[i], l.ix.isPrompt) {
				prompt, of = i, k
			}
		}
	}
	if prompt >= 0 && l.o.GivesWay(l.req, int(prompt)) {
		prompt = -1
	}
	if l.prompt = prompt; prompt >= 0 {
		units[of].stays = true
	}
}
