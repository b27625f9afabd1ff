package delegation

import (
	"context"
	"iter"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// nextMessages is a store with the messages after a passage.
type nextMessages struct {
	store.Store
	all []store.Message
}

func (s nextMessages) Messages(context.Context, store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for _, m := range s.all {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (nextMessages) Search(context.Context, store.Search) (store.Found, error) {
	return store.Found{}, nil
}

// Five other messages of the user that match are shown, the best ones, newest first; then what
// was said after the first passage. None is shown twice.
func TestAddLater(t *testing.T) {
	message := func(id store.MessageID, role llms.Role) store.Message {
		m := store.Message{ID: id, Seq: int64(id), Body: llms.Message{Role: role, Parts: []llms.Part{{Kind: llms.PartText, Text: "Words " + id.String()}}}}
		m.Body.Time = time.Date(2026, 2, int(id), 8, 0, 0, 0, time.UTC)
		return m
	}
	user := func(id store.MessageID) candidate { return candidate{msg: message(id, llms.RoleUser), match: true} }
	all := []candidate{
		user(1), {msg: message(20, llms.RoleUser)}, {msg: message(21, llms.RoleAssistant), match: true},
		user(3), user(2), user(6), user(4), user(5), user(7),
	}
	after := []store.Message{message(6, llms.RoleUser), message(23, llms.RoleUser)}
	for most, want := range map[int]string{
		leastForLater - 1: "",
		leastForLater: `What else the user said about it, newest first:
- msg_6 user 2026-02-06: Words msg_6
- msg_5 user 2026-02-05: Words msg_5
- msg_4 user 2026-02-04: Words msg_4
- msg_3 user 2026-02-03: Words msg_3
- msg_2 user 2026-02-02: Words msg_2
Said after msg_1 in its session:
- msg_23 user 2026-02-23: Words msg_23`,
	} {
		e := extract{
			Delegator: &Delegator{config: Config{Store: nextMessages{all: after}}}, most: most, literal: regexp.MustCompile("$^"),
			passages: []passage{{msg: all[0].msg}}, shown: map[store.MessageID]bool{1: true},
		}
		if err := e.addLater(t.Context(), all, "what?"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.later); diff != "" {
			t.Errorf("with room for %d tokens (-want +got):\n%s", most, diff)
		}
	}
}
