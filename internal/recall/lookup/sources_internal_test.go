package lookup

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// An asking beside an earlier asking moves behind the source with it, unless it is beside
// another match as well.
func TestAnAskingBesideAnAskingMovesWithIt(t *testing.T) {
	hit := func(id store.MessageID, nextTo ...store.MessageID) store.Hit {
		return store.Hit{ID: store.ID{Message: id}, NextTo: nextTo}
	}
	asked := map[string]bool{"lunch": true}
	list := []sourced{{hit: hit(1, 3), asked: asked}, {hit: hit(2, 3, 4), asked: asked, place: 2}, {hit: hit(3), asked: asked, place: 9}, {hit: hit(4), place: 6}, {hit: hit(5, 3), place: 8}}
	for i, want := range []int{9, 2, 9, 6, 8} {
		if list[i].follow(list); list[i].place != want {
			t.Errorf("hit %d is at %d, want %d", i, list[i].place, want)
		}
	}
}

// turnStore has a prompt, calls of a tool and their results, and counts the messages that are read.
type turnStore struct {
	Store
	messages []store.Message
	read     int
}

func (s *turnStore) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	seqs := make([]int64, 0, len(s.messages))
	for _, id := range q.IDs {
		seqs = append(seqs, int64(id))
	}
	for n := int64(1); n <= int64(len(s.messages)) && q.IDs == nil; n++ {
		if q.Newest && q.Before > n {
			seqs = append(seqs, q.Before-n)
		} else if !q.Newest && n > q.After {
			seqs = append(seqs, n)
		}
	}
	return func(yield func(store.Message, error) bool) {
		for _, seq := range seqs {
			if s.read++; !yield(s.messages[seq-1], nil) {
				return
			}
		}
	}
}

// TestSourcesReadLittle: next to a call of another tool nothing repeats the record, so the
// rest of a long turn is not read for it.
func TestSourcesReadLittle(t *testing.T) {
	from := &turnStore{}
	add := func(m llms.Message) {
		n := int64(len(from.messages) + 1)
		from.messages = append(from.messages, store.Message{ID: store.MessageID(n), Seq: n, Conversation: 1, Body: m})
	}
	add(llms.User("fix the proxy"))
	for n := range 100 {
		add(llms.Calls("", llms.ToolCall{ID: fmt.Sprint(n), Name: "Bash", Arguments: "{}"}))
		add(llms.Result(fmt.Sprint(n), "Bash", "the proxy is down", false))
	}
	hits := []store.Hit{{ID: store.ID{Message: 101}}, {ID: store.ID{Message: 20}}}
	if err := sourcesFirst(t.Context(), from, "proxy", hits); err != nil || hits[0].Message != 101 || from.read > 4 {
		t.Errorf("%d messages were read: %v", from.read, err)
	}
}
