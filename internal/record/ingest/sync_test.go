package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// say makes a history of one-word messages, user and assistant in turn.
func say(words ...string) []llms.Message {
	var ms []llms.Message
	for i, w := range words {
		role := llms.RoleUser
		if i%2 == 1 {
			role = llms.RoleAssistant
		}
		ms = append(ms, llms.Text(role, w))
	}
	return ms
}

// withID makes a history of a message whose id nobody knows.
func withID(word string) []llms.Message {
	m := llms.User(word)
	m.ID = "id-" + word
	return []llms.Message{m}
}

func history(n int) []llms.Message {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	return say(words...)
}

func TestSyncWithoutIDs(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  []llms.Message
		history []llms.Message
		stored  int
		view    string
		rewound bool
		loose   int
	}{
		{"into nothing", nil, say("a", "b"), 2, "a b", false, 0},
		{"nothing new", say("a", "b", "c"), say("a", "b", "c"), 0, "a b c", false, 0},
		{"two more", say("a", "b", "c"), say("a", "b", "c", "d", "e"), 2, "a b c d e", false, 0},
		{"one message", say("a"), say("a", "b"), 1, "a b", false, 0},
		{"repeated words", say("ok", "ok", "ok"), say("ok", "ok", "ok", "ok"), 1, "ok ok ok ok", false, 0},
		{"only the newest resent", history(8), history(10)[4:], 2, "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9", false, 0},
		{"a shorter history", say("a", "b", "c", "d"), say("a", "b"), 0, "a b c d", false, 0},
		{"an edited message", say("a", "b", "c", "d"), say("a", "b", "x", "y"), 2, "a b x y", true, 0},
		{"a host summary in front", history(8), append([]llms.Message{llms.User("summary so far")}, history(9)[4:]...), 2, "w0 w1 w2 w3 w4 w5 w6 w7 w8", false, 1},
		{"the three newest resent", history(6), history(8)[3:], 2, "w0 w1 w2 w3 w4 w5 w6 w7", false, 0},
		{"two of the newest prove nothing", history(6), history(8)[4:], 4, "w0 w1 w2 w3 w4 w5 w4 w5 w6 w7", false, 0},
		{"three after a message with a new id", history(6), append(withID("note"), history(8)[3:]...), 3, "w0 w1 w2 w3 w4 w5 w6 w7", false, 1},
		{"two after a message with a new id", history(6), append(withID("note"), history(8)[4:]...), 5, "w0 w1 w2 w3 w4 w5 note w4 w5 w6 w7", false, 0},
		{"all, but two, after a message with a new id", history(2), append(withID("note"), history(3)...), 4, "w0 w1 note w0 w1 w2", false, 0},
		{"something else entirely", say("a", "b", "c", "d"), say("x", "y"), 2, "a b c d x y", false, 0},
		{"one word in common proves nothing", say("a", "b", "c", "ok"), append(say("x", "ok"), say("y")...), 3, "a b c ok x ok y", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t, 0)
			b.append(t, c.before...)
			got := b.sync(t, c.history...)
			if len(got.Stored) != c.stored {
				t.Errorf("stored %d, want %d", len(got.Stored), c.stored)
			}
			if v := b.view(t); v != c.view {
				t.Errorf("view is %q, want %q", v, c.view)
			}
			if (got.Rewound != nil) != c.rewound {
				t.Errorf("rewound: %v", got.Rewound)
			}
			if got.Loose != c.loose {
				t.Errorf("loose: %d, want %d", got.Loose, c.loose)
			}
			b.sound(t)
			if again := b.sync(t, c.history...); len(again.Stored) != 0 || again.Rewound != nil {
				t.Errorf("the same history again stored %d more, rewound %v", len(again.Stored), again.Rewound)
			}
		})
	}
}

func TestSyncIgnoresWhatHostsChangeBetweenTurns(t *testing.T) {
	b := newBed(t, 0)
	first := decode(t, llms.FormatAnthropic, `{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}`)
	b.sync(t, first)
	second := decode(t, llms.FormatAnthropic, `{"role":"user","content":[{"type":"text","text":"hi"}]}`)
	if got := b.sync(t, second, llms.Assistant("hello")); len(got.Stored) != 1 {
		t.Errorf("stored %d, want only the answer", len(got.Stored))
	}
}

func TestSyncFindsExternalisedMessages(t *testing.T) {
	b := newBed(t, 1000)
	long := strings.Repeat("a long line of output\n", 1000)
	ms := []llms.Message{llms.User(long), llms.Assistant("done")}
	b.sync(t, ms...)
	if got := b.sync(t, append(ms, llms.User("next"))...); len(got.Stored) != 1 {
		t.Errorf("stored %d, want 1", len(got.Stored))
	}
}

// A payload that cannot be read any more does not end a session: the message
// is stored anew when it is sent again.
func TestSyncStoresAnewWhatIsDamaged(t *testing.T) {
	b := newBed(t, 1000)
	ms := append([]llms.Message{llms.User(strings.Repeat("a long line of output\n", 1000))}, history(6)...)
	b.sync(t, ms...)
	in, err := ingest.New(damagedRecords{b.DB}, nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	b.Ingester = in
	if got := b.sync(t, append(ms, llms.User("next"))...); len(got.Stored) != 2 || got.Loose != 1 {
		t.Errorf("stored %d, %d of them outside the view; want the damaged one and the new one", len(got.Stored), got.Loose)
	}
	if got := b.sync(t, append(ms, llms.User("next"))...); len(got.Stored) != 0 {
		t.Errorf("stored %d more", len(got.Stored))
	}
	b.sound(t)
}

// damagedRecords is a store whose records cannot be put together any more.
type damagedRecords struct{ *sqlite.DB }

func (damagedRecords) Record(_ context.Context, id store.MessageID) ([]byte, error) {
	return nil, fmt.Errorf("the record of %s is %w", id, store.ErrDamaged)
}

func TestSyncOfALongHistoryStoresItsEnd(t *testing.T) {
	b := newBed(t, 0)
	all := history(500)
	b.append(t, all[:490]...)
	got := b.sync(t, all...)
	if len(got.Stored) != 10 || got.Existing != 490 {
		t.Errorf("stored %d and knew %d, want 10 and 490", len(got.Stored), got.Existing)
	}
	b.sound(t)
}

func TestSyncByID(t *testing.T) {
	withIDs := func(words ...string) []llms.Message {
		ms := say(words...)
		for i := range ms {
			ms[i].ID = words[i]
		}
		return ms
	}
	b := newBed(t, 0)
	b.sync(t, withIDs("a", "b", "c")...)
	if got := b.sync(t, withIDs("a", "b", "c", "d")...); len(got.Stored) != 1 || got.Rewound != nil {
		t.Errorf("one more: %+v", got)
	}
	got := b.sync(t, withIDs("a", "b", "x")...)
	if len(got.Stored) != 1 || got.Rewound == nil || got.Rewound.Items != 2 {
		t.Errorf("a branch: %+v", got)
	}
	if v := b.view(t); v != "a b x" {
		t.Errorf("view is %q", v)
	}
	changed := withIDs("a", "b", "x")
	changed[2].Parts[0].Text = "x, edited"
	if got := b.sync(t, changed...); len(got.Stored) != 1 {
		t.Errorf("an edit in place: %+v", got)
	}
	if got := b.sync(t, changed...); len(got.Stored) != 0 {
		t.Errorf("the same edit again: %+v", got)
	}
	last := b.all(t)[len(b.all(t))-1]
	if last.Flags&store.FlagDuplicate == 0 {
		t.Error("the edited message is not flagged")
	}
	b.sound(t)
}
