package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// named gives the messages of a history ids.
func named(ms []llms.Message) []llms.Message {
	ms = slices.Clone(ms)
	for i := range ms {
		ms[i].ID = "id-" + ms[i].PlainText()
	}
	return ms
}

func edited(ms []llms.Message, at int) []llms.Message {
	ms = slices.Clone(ms)
	ms[at].Parts = []llms.Part{{Kind: llms.PartText, Text: "EDITED"}}
	return ms
}

func withSummary(ms []llms.Message) []llms.Message {
	sum := llms.User("SUMMARY")
	if ms[0].ID != "" {
		sum.ID = "the host's summary"
	}
	return append([]llms.Message{sum}, ms...)
}

// Messages before the end of a history are compared too.
func TestSyncStoresWhatIsNewBeforeTheEnd(t *testing.T) {
	type outcome struct{ Stored, Existing, Loose, Late int }
	for _, size := range []int{200, 1300} {
		for _, ids := range []bool{false, true} {
			all := history(size)
			if ids {
				all = named(all)
			}
			late := func(n int) int {
				if ids {
					return n
				}
				return 0
			}
			half := size / 2
			outside := 1 // an edit in the middle; with an id it is added to the view
			if ids {
				outside = 0
			}
			for _, c := range []struct {
				name          string
				before, after []llms.Message
				want          outcome
				has           string
			}{
				{"an older part later", all[half:], all, outcome{half, half, half, late(half)}, "w0"},
				{"a host summary in front", all, withSummary(all[half:]), outcome{1, half, 1, late(1)}, "SUMMARY"},
				{"a host summary before everything", all, withSummary(all), outcome{1, size, 1, late(1)}, "SUMMARY"},
				{"a changed beginning", all, edited(all, 0), outcome{1, size - 1, 1, late(1)}, "EDITED"},
				{"an edit in the middle", all, edited(all, half), outcome{1, size - 1, outside, late(1)}, "EDITED"},
			} {
				t.Run(fmt.Sprintf("%d messages, ids %v, %s", size, ids, c.name), func(t *testing.T) {
					b := newBed(t, 0)
					b.sync(t, c.before...)
					got, err := b.Sync(t.Context(), b.id, ingest.Messages(c.after...))
					if err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(c.want, outcome{len(got.Stored), got.Existing, got.Loose, got.Late}); d != "" {
						t.Error(d)
					}
					if got.Rewound != nil {
						t.Errorf("rewound: %+v", got.Rewound)
					}
					if b.texts(t)[c.has] != 1 {
						t.Errorf("%s is stored %d times", c.has, b.texts(t)[c.has])
					}
					again, err := b.Sync(t.Context(), b.id, ingest.Messages(c.after...))
					if err != nil || len(again.Stored) > 0 || again.Rewound != nil {
						t.Errorf("the same again: %d stored, rewound %v, %v", len(again.Stored), again.Rewound, err)
					}
				})
			}
		}
	}
}

// Someone else's message may have the very id that an edit would be given.
func TestAnEditIsStoredWhateverItsSecondID(t *testing.T) {
	message := func(id, text string) llms.Message {
		m := llms.User(text)
		m.ID = id
		return m
	}
	edit := message("x", "two")
	b := newBed(t, 0)
	b.append(t, message("x", "one"))
	taken := ingest.SecondID("x", ingest.RecordSum(edit))
	b.append(t, message(taken, "in the way"))
	if got := b.append(t, edit); got[0].Existed {
		t.Fatal("the edit was taken for stored")
	}
	if got := b.append(t, edit); !got[0].Existed {
		t.Error("the same edit was stored twice")
	}
	if got := b.sync(t, message("x", "one"), edit); len(got.Stored) != 0 {
		t.Errorf("sync stored %d more", len(got.Stored))
	}
	if v := b.view(t); v != "one in the way two" && v != "one two" {
		t.Errorf("the view is %q", v)
	}
	if got := b.texts(t); got["two"] != 1 || got["one"] != 1 {
		t.Errorf("stored: %v", got)
	}
}

func TestRepeatedAndMissingIDs(t *testing.T) {
	message := func(id, text string) llms.Message {
		m := llms.User(text)
		m.ID = id
		return m
	}
	for name, h := range map[string][]llms.Message{
		"one id for all":             {message("x", "one"), message("x", "two"), message("x", "one"), message("", "noid"), message("5", "numid")},
		"a repeat and a missing one": {message("a", "a"), message("b", "b"), message("c", "c"), message("a", "a"), message("d", "d"), message("", "e")},
		"none at the end":            {message("a", "a"), message("b", "b"), message("", "ok"), message("", "ok")},
		"none at the beginning":      {message("", "ok"), message("", "ok"), message("a", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, 0)
			b.sync(t, h...)
			view, n := b.view(t), len(b.all(t))
			for range 3 {
				if got := b.sync(t, h...); len(got.Stored) > 0 || got.Rewound != nil || got.Existing != len(h) {
					t.Errorf("the same again: %+v", got)
				}
			}
			if b.view(t) != view || len(b.all(t)) != n {
				t.Errorf("view was %q, is %q; %d messages were %d", view, b.view(t), len(b.all(t)), n)
			}
			want := 1 // the message after it
			if got := b.sync(t, append(h, message("new", "more"))...); len(got.Stored) != want || got.Rewound != nil {
				t.Errorf("one more: %+v", got)
			}
			if !strings.HasSuffix(b.view(t), " more") {
				t.Errorf("the view is %q", b.view(t))
			}
		})
	}
}

func TestAForkKnowsWhatItInherited(t *testing.T) {
	for _, ids := range []bool{false, true} {
		t.Run(fmt.Sprint("ids ", ids), func(t *testing.T) {
			all := history(12)
			if ids {
				all = named(all)
			}
			b := newBed(t, 0)
			b.sync(t, all[:10]...)
			stored := b.all(t)
			fork := b.fork(t, stored[7].ID, "fork")
			deep := fork.fork(t, stored[3].ID, "fork of what the fork inherited")
			// w8 and w9 were said after the fork: they are new to it.
			if got := fork.sync(t, all...); len(got.Stored) != 4 || got.Existing != 8 {
				t.Errorf("the fork stored %d and knew %d, want 4 and 8", len(got.Stored), got.Existing)
			}
			if got := deep.sync(t, all[:6]...); len(got.Stored) != 2 || got.Existing != 4 {
				t.Errorf("its fork stored %d and knew %d, want 2 and 4", len(got.Stored), got.Existing)
			}
			if v := deep.view(t); v != "w0 w1 w2 w3 w4 w5" {
				t.Errorf("its view is %q", v)
			}
			if ids {
				got := deep.append(t, all[3], all[4], all[6])
				if !got[0].Existed || !got[1].Existed || got[2].Existed {
					t.Errorf("append to a fork: %+v", got)
				}
			}
			for _, c := range []bed{b, fork, deep} {
				c.sound(t)
			}
		})
	}
}

// The origin left a branch before it was forked: the fork never had it.
func TestAForkDoesNotKnowWhatItsOriginHadLeft(t *testing.T) {
	b := newBed(t, 0)
	b.sync(t, named(say("a", "b", "c"))...)
	b.sync(t, named(say("a", "x"))...)
	fork := b.fork(t, b.all(t)[3].ID, "fork")
	fork.sync(t, named(say("a", "b", "c"))...)
	if v := fork.view(t); v != "a b c" {
		t.Errorf("the fork's view is %q", v)
	}
	if got := fork.sync(t, named(say("a", "b", "c"))...); len(got.Stored) > 0 || got.Rewound != nil {
		t.Errorf("the same again: %+v", got)
	}
	fork.sound(t)
}

// A fork that went back before an inherited message does not show it: given again, it is new.
func TestAForkDoesNotKnowWhatItHasLeft(t *testing.T) {
	all := named(say("a", "b", "c", "d"))
	b := newBed(t, 0)
	b.sync(t, all[:3]...)
	fork := b.fork(t, b.all(t)[2].ID, "fork")
	fork.sync(t, all[0], all[3])
	if got := fork.append(t, all[0], all[1]); !got[0].Existed || got[1].Existed || fork.view(t) != "a d b" {
		t.Errorf("append to a fork: %+v, view %q", got, fork.view(t))
	}
}

func (b bed) fork(t *testing.T, at store.MessageID, key string) bed {
	t.Helper()
	c, err := b.Fork(t.Context(), b.id, at, store.NewConversation{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return bed{DB: b.DB, Ingester: b.Ingester, id: c.ID}
}

func TestSyncGoesBackToABranchThatWasLeft(t *testing.T) {
	one, two := named(say("a", "b", "c", "d", "e", "f")), named(say("a", "b", "x", "y"))
	b := newBed(t, 0)
	b.sync(t, one...)
	b.sync(t, two...)
	for range 3 {
		if got := b.sync(t, one...); len(got.Stored) > 0 || got.Rewound == nil || b.view(t) != "a b c d e f" {
			t.Fatalf("back to the first: %+v, view %q", got, b.view(t))
		}
		if got := b.sync(t, two...); len(got.Stored) > 0 || got.Rewound == nil || b.view(t) != "a b x y" {
			t.Fatalf("back to the second: %+v, view %q", got, b.view(t))
		}
	}
	if got := b.sync(t, two[:3]...); got.Rewound != nil || b.view(t) != "a b x y" {
		t.Errorf("a history that is just shorter: %+v, view %q", got, b.view(t))
	}
	swapped := newBed(t, 0)
	swapped.sync(t, one[:3]...)
	if got := swapped.sync(t, one[0], one[2], one[1], one[3]); got.Rewound != nil || !strings.Contains(swapped.view(t), "c") {
		t.Errorf("a history in another order: %+v, view %q", got, swapped.view(t))
	}
	more := llms.User("g")
	more.ID = "id-g"
	if got := b.sync(t, append(one[:4:4], more)...); len(got.Stored) != 1 || b.view(t) != "a b c d g" {
		t.Errorf("from the middle of the first: %+v, view %q", got, b.view(t))
	}
	b.sound(t)
}
