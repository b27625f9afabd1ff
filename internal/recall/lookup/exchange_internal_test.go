package lookup

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// listed is a store with the messages of a conversation. It counts the queries.
type listed struct {
	Store
	messages []store.Message
	asked    *int
}

func (l listed) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	if l.asked != nil {
		*l.asked++
	}
	return func(yield func(store.Message, error) bool) {
		all, n := slices.Clone(l.messages), 0
		if q.Newest {
			slices.Reverse(all)
		}
		for _, m := range all {
			if m.Seq <= q.After || q.Before > 0 && m.Seq >= q.Before {
				continue
			}
			if n++; q.Limit > 0 && n > q.Limit || !yield(m, nil) {
				return
			}
		}
	}
}

// talk makes messages of lines: "u text" of the user, "a text" of the agent, "c id" a call, "r id text" its result,
// "e text" an echo, "h text" a record of the host.
func talk(lines ...string) (all []store.Message) {
	for i, line := range lines {
		m := store.Message{ID: store.MessageID(i + 1), Seq: int64(i + 1), Conversation: 1}
		kind, text, _ := strings.Cut(line, " ")
		switch kind {
		case "u":
			m.Body = llms.User(text)
		case "a":
			m.Body = llms.Assistant(text)
		case "c":
			m.Body = llms.Calls("", llms.ToolCall{ID: text, Name: "x"})
		case "r":
			id, out, _ := strings.Cut(text, " ")
			m.Body = llms.Result(id, "x", out, false)
		case "e":
			m.Body, m.Flags = llms.User(text), store.FlagEcho
		case "h":
			m.Body, m.Flags = llms.Text(llms.RoleSystem, text), store.FlagHidden
		}
		m.Body.Time = time.Unix(int64(i), 0)
		all = append(all, m)
	}
	return all
}

func seqs(all []store.Message) (out []int64) {
	for _, m := range all {
		out = append(out, m.Seq)
	}
	return out
}

// An exchange is a prompt and what follows it up to the next prompt, from whichever of its messages it is read.
func TestExchanges(t *testing.T) {
	all := talk("u one", "a answer", "u two", "c 1", "r 1 out", "h note", "u  ", "a done", "u three", "a end")
	for _, c := range []struct {
		of   int
		want []int64
	}{{1, []int64{1, 2}}, {2, []int64{1, 2}}, {3, []int64{3, 4, 5, 6, 7, 8}}, {5, []int64{3, 4, 5, 6, 7, 8}}, {8, []int64{3, 4, 5, 6, 7, 8}}, {10, []int64{9, 10}}} {
		asked := 0
		read := exchanges{store: listed{messages: all, asked: &asked}}
		e, err := read.of(t.Context(), all[c.of-1])
		if err != nil || !slices.Equal(seqs(e.messages), c.want) || e.part {
			t.Errorf("of %d: %v, %v; want %v", c.of, seqs(e.messages), err, c.want)
			continue
		}
		if e.messages[e.place(all[c.of-1])].Seq != int64(c.of) {
			t.Errorf("%d is not in its place", c.of)
		}
		before := asked
		for _, m := range e.messages {
			if again, err := read.of(t.Context(), m); again != e || err != nil {
				t.Errorf("%d has another exchange: %v", m.Seq, err)
			}
		}
		if asked != before {
			t.Errorf("the exchange of %d was read again", c.of)
		}
	}
	for name, c := range map[string]struct {
		enough int64
		of     int
		want   []int64
	}{"at once": {4, 4, []int64{4}}, "before": {3, 4, []int64{3, 4}}, "after": {5, 4, []int64{3, 4, 5}}} {
		read := exchanges{store: listed{messages: all}}
		e, err := read.read(t.Context(), all[c.of-1], func(m store.Message) bool { return m.Seq == c.enough })
		if err != nil || !e.part || !slices.Equal(seqs(e.messages), c.want) || len(read.known) > 0 {
			t.Errorf("%s: %v, %v; want %v", name, seqs(e.messages), err, c.want)
		}
	}
}

// An exchange has a reply, the last words in it, and outputs of calls.
func TestPartsOfAnExchange(t *testing.T) {
	if got := (&exchange{messages: talk("u x", "a first", "a last", "a  ", "c 1")}).reply(); got == nil || got.Seq != 3 {
		t.Errorf("the reply is %v", got)
	}
	if got := (&exchange{messages: talk("u x", "c 1")}).reply(); got != nil {
		t.Errorf("the reply is %v", got)
	}
	calls := talk("c 1", "r 1 out", "r 2 out")
	if got := (&exchange{messages: calls}).outputs(calls[0]); !slices.Equal(seqs(got), []int64{2}) {
		t.Errorf("the outputs are %v", seqs(got))
	}
}

// A message is shown beside a match once, if it says something and there is room, on the side where it stands.
func TestRoomBesideAMatch(t *testing.T) {
	all := talk("u before", "u match", "a after", "r 1 "+strings.Repeat("x", leastOutput-10), "r 1 "+strings.Repeat("y", leastOutput), "a  ", "a excluded")
	short := all[3].Body.Render()
	if n := len(short); n >= leastOutput {
		t.Fatalf("the short output has %d bytes", n)
	}
	q := &query{runes: 100, re: regexp.MustCompile("nothing")}
	q.search.Except = []store.MessageID{7}
	for left, want := range map[int]string{1000: "before|after,← x: " + strings.Repeat("y", leastOutput), neighbourCost + 6: "before|", neighbourCost + 5: "|after", neighbourCost + 4: "|"} {
		o := &room{Service: &Service{counter: byRunes{}}, query: q, left: left, shown: map[store.MessageID]bool{2: true}}
		r := &result{msg: all[1]}
		for _, m := range slices.Concat(all, all) {
			o.show(r, m, 100)
		}
		texts := func(ns []recall.Neighbour) string {
			var out []string
			for _, n := range ns {
				out = append(out, n.Snippet)
			}
			return strings.Join(out, ",")
		}
		got := "|"
		if r.Context != nil {
			got = texts(r.Context.Before) + "|" + texts(r.Context.After)
		}
		if got != want || o.left < 0 {
			t.Errorf("with %d tokens: %q, %d left; want %q", left, got, o.left, want)
		}
	}
}

type byRunes struct{}

func (byRunes) Count(text string) int { return len([]rune(text)) }

// Around a match stand as many messages as were asked for, without what says nothing.
func TestAroundAMatch(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprint("u m", i))
	}
	lines[8], lines[12] = "a ", "h note"
	all := talk(lines...)
	s := &Service{store: listed{messages: all}}
	for n, want := range map[int][2]string{1: {"10", "12"}, 3: {"7 8 10", "12 14 15"}, 20: {"1 2 3 4 5 6 7 8 10", "12 14 15 16 17 18 19 20"}} {
		c, err := s.around(t.Context(), all[10], n)
		var got [2]string
		for i, list := range [][]recall.Neighbour{c.Before, c.After} {
			for _, nb := range list {
				got[i] = strings.TrimSpace(got[i] + " " + fmt.Sprint(int64(nb.ID)))
			}
		}
		if got != want || err != nil {
			t.Errorf("%d: %q, %v; want %q", n, got, err, want)
		}
	}
}
