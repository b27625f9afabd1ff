package teamsync

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// sized is a store with messages that have sizes, and records of one byte.
type sized struct {
	store.Store
	sizes []int64
}

func (s sized) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for i, size := range s.sizes {
			seq := int64(i + 1)
			m := store.Message{ID: store.MessageID(seq), Seq: seq, Size: size, Format: llms.FormatText, Body: llms.User("x")}
			m.Body.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
			if seq > q.After && !yield(m, nil) {
				return
			}
		}
	}
}

func (sized) Record(context.Context, store.MessageID) ([]byte, error) { return []byte("x"), nil }

// A batch ends before it grows too large, but holds a message however large it is.
func TestBatchBounds(t *testing.T) {
	for _, c := range []struct {
		name     string
		sizes    []int64
		after    int64
		messages int
		through  int64
	}{
		{"all", []int64{1, 1, 1}, 0, 3, 3},
		{"the rest", []int64{1, 1, 1}, 2, 1, 3},
		{"one beyond the size", []int64{BatchBytes + 1, 1}, 0, 2, 2},
		{"just the size", []int64{1, BatchBytes - 1, 1}, 0, 3, 3},
		{"a byte more", []int64{1, BatchBytes, 1}, 0, 1, 1},
		{"just as many", make([]int64, BatchMessages), 0, BatchMessages, BatchMessages},
		{"one more", make([]int64, BatchMessages+1), 0, BatchMessages, BatchMessages},
	} {
		p := Pusher{Store: sized{sizes: c.sizes}}
		b, _, err := p.batch(t.Context(), identity{}, Source{}, store.Conversation{Messages: int64(len(c.sizes))}, c.after)
		if err != nil || len(b.Messages) != c.messages || b.Through != c.through || b.Mark == "" {
			t.Errorf("%s: %d messages up to %d, mark %q, %v; want %d up to %d", c.name, len(b.Messages), b.Through, b.Mark, err, c.messages, c.through)
		}
	}
}
