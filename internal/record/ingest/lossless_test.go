package ingest_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/llms"
)

// host draws a change that a host may make to its history between two turns.
type host struct {
	rt    *rapid.T
	ids   string // "none", "all" or "some" messages have ids
	said  int
	sent  []llms.Message
	words []string
}

func newHost(rt *rapid.T) *host {
	return &host{
		rt:    rt,
		ids:   rapid.SampledFrom([]string{"none", "all", "some"}).Draw(rt, "ids"),
		words: rapid.SampledFrom([][]string{{"a", "b", "c", "d"}, {"ok"}, nil}).Draw(rt, "words"),
	}
}

// say returns a new message: of few words that repeat, or of one that does
// not.
func (h *host) say() llms.Message {
	h.said++
	word := fmt.Sprintf("w%d", h.said)
	if len(h.words) > 0 {
		word = rapid.SampledFrom(h.words).Draw(h.rt, "word")
	}
	m := llms.User(word)
	if h.ids == "all" || h.ids == "some" && rapid.Bool().Draw(h.rt, "id") {
		m.ID = fmt.Sprintf("id%d", h.said)
	}
	return m
}

// turn changes the history as hosts do, and adds to it.
func (h *host) turn() []llms.Message {
	n := len(h.sent)
	at := rapid.IntRange(0, n).Draw(h.rt, "at")
	next := slices.Clone(h.sent)
	switch rapid.SampledFrom([]string{"grow", "grow", "cut", "drop", "summary", "edit", "repeat"}).Draw(h.rt, "turn") {
	case "cut": // gone back
		next = next[:at]
	case "drop": // the host forgets its oldest messages
		next = next[at:]
	case "summary": // and puts its own summary in front of the rest
		next = append([]llms.Message{h.say()}, next[at:]...)
	case "edit":
		if at < n {
			h.said++
			next[at].Parts = []llms.Part{{Kind: llms.PartText, Text: fmt.Sprintf("edit%d", h.said)}}
		}
	case "repeat":
		if at < n {
			next = append(next, next[at])
		}
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 5, 40, 130}).Draw(h.rt, "new") {
		next = append(next, h.say())
	}
	h.sent = next
	return next
}

// counts says how often each text is there, one message sent twice under its
// id being one.
func counts(ms []llms.Message) map[string]int {
	n := map[string]int{}
	seen := map[[2]string]bool{}
	for _, m := range ms {
		key := [2]string{m.ID, m.PlainText()}
		if m.ID != "" && seen[key] {
			continue
		}
		seen[key] = true
		n[m.PlainText()]++
	}
	return n
}

func (b bed) texts(t *testing.T) map[string]int {
	n := map[string]int{}
	for _, m := range b.all(t) {
		n[m.Body.PlainText()]++
	}
	return n
}

// Whatever a host sends turn by turn, everything that it ever sent is stored,
// and sending it again stores nothing and leaves the view as it is.
func TestSyncLosesNothing(t *testing.T) {
	b := newBed(t, 0)
	rapid.Check(t, func(rt *rapid.T) {
		b = b.next(t)
		h := newHost(rt)
		present := map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			sent := h.turn()
			if _, err := b.Sync(t.Context(), b.id, ingest.Messages(sent...)); err != nil {
				rt.Fatal(err)
			}
			stored := b.texts(t)
			for w, n := range counts(sent) {
				present[w] = true
				if stored[w] < n {
					rt.Fatalf("the history has %q %d times, the store %d", w, n, stored[w])
				}
			}
			for w := range present {
				if stored[w] == 0 {
					rt.Fatalf("%q is gone", w)
				}
			}
			if n := rapid.SampledFrom([]int{0, 0, 2, 7}).Draw(rt, "fold"); n > 0 && b.view(t) != "" {
				b.fold(t, n)
			}
			view := b.view(t)
			again, err := b.Sync(t.Context(), b.id, ingest.Messages(sent...))
			if err != nil || len(again.Stored) > 0 || again.Rewound != nil || b.view(t) != view {
				rt.Fatalf("the same again: stored %d, rewound %v, %v\nview was %q\n     is %q", len(again.Stored), again.Rewound, err, view, b.view(t))
			}
		}
		v, err := b.Verify(t.Context(), b.id)
		if err != nil || len(v.Faults) > 0 {
			rt.Fatalf("verify: %v %v", v.Faults, err)
		}
	})
}

// The same with long histories.
func TestSyncOfLongHistoriesLosesNothing(t *testing.T) {
	b := newBed(t, 0)
	rapid.Check(t, func(rt *rapid.T) {
		b = b.next(t)
		ids := rapid.Bool().Draw(rt, "ids")
		said := 0
		say := func() llms.Message {
			said++
			m := llms.User(fmt.Sprintf("w%d", said))
			if ids {
				m.ID = fmt.Sprintf("id%d", said)
			}
			return m
		}
		var sent []llms.Message
		for range rapid.IntRange(2, 6).Draw(rt, "turns") {
			at := rapid.IntRange(0, len(sent)).Draw(rt, "at")
			switch rapid.SampledFrom([]string{"grow", "cut", "drop", "summary", "gap", "note"}).Draw(rt, "turn") {
			case "cut":
				sent = sent[:at:at]
			case "drop":
				sent = sent[at:]
			case "summary":
				sent = append([]llms.Message{say()}, sent[at:]...)
			case "gap":
				sent = slices.Delete(slices.Clone(sent), at, min(at+3, len(sent)))
			case "note":
				sent = slices.Insert(slices.Clone(sent), at, say())
			}
			for range rapid.SampledFrom([]int{0, 1, 70, 150}).Draw(rt, "new") {
				sent = append(sent, say())
			}
			b.sync(t, sent...)
			stored := b.texts(t)
			for _, m := range sent {
				if stored[m.PlainText()] == 0 {
					rt.Fatalf("%q is lost", m.PlainText())
				}
			}
			if n := rapid.SampledFrom([]int{0, 5, 40}).Draw(rt, "fold"); n > 0 && b.view(t) != "" {
				b.fold(t, n)
			}
			if again := b.sync(t, sent...); len(again.Stored) > 0 || again.Rewound != nil {
				rt.Fatalf("the same again: stored %d, rewound %v", len(again.Stored), again.Rewound)
			}
		}
	})
}
