package assemble_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

// items reads a compact notation: "u" user, "a" assistant, "s" summary, "(x"
// a call x, ")x" its result, "=x" both in one message.
func items(notation ...string) store.View {
	var v store.View
	for i, n := range notation {
		it := store.Item{Pos: int64(i + 1), ID: store.ID{Message: store.MessageID(i + 1)}, Tokens: 10}
		switch n[0] {
		case 'u':
			it.Role = llms.RoleUser
			v.LastUser = it.Pos
		case 'a':
			it.Role = llms.RoleAssistant
		case 's':
			it.ID = store.ID{Summary: store.SummaryID("sum_" + n)}
		case '(':
			it.Role, it.Calls = llms.RoleAssistant, []string{n[1:]}
		case '=':
			it.Role, it.Calls, it.Results = llms.RoleAssistant, []string{n[1:]}, []string{n[1:]}
		case ')':
			it.Role, it.Results = llms.RoleTool, []string{n[1:]}
		}
		v.Items = append(v.Items, it)
		v.Tokens += it.Tokens
	}
	v.Count, v.Gap = len(v.Items), len(v.Items)
	return v
}

func TestCuts(t *testing.T) {
	tests := []struct {
		name string
		view store.View
		want string // | where the view may be cut
	}{
		{"plain", items("u", "a", "u"), "|.|.|.|"},
		{"pair", items("u", "(1", ")1", "a"), "|.|..|.|"},
		{"two calls, two results", items("(1", "(2", ")1", ")2", "u"), "|....|.|"},
		{"abandoned call", items("(1", "u", "a"), "|.|.|.|"},
		{"id used again", items("(1", "u", "(1", ")1", "u"), "|.|.|..|.|"},
		{"result without a call", items("u", ")1", "a"), "|.|.|.|"},
		{"said in between", items("(1", "u", ")1", "a"), "|...|.|"},
		{"next to a gap", func() store.View {
			v := items("u", "(1", ")2", "a")
			v.Skipped, v.Gap = 7, 2
			return v
		}(), "|.|..|.|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			for i, legal := range assemble.Cuts(tt.view) {
				if legal {
					got += "|"
				}
				if i < len(tt.view.Items) {
					got += "."
				}
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A call at most 64 items before a gap, and a result less than 64 items after it, may have its
// other half in the gap.
func TestCutsFarFromAGap(t *testing.T) {
	for between, free := range map[int]bool{63: false, 64: true} {
		said := slices.Repeat([]string{"a"}, between)
		v := items(slices.Concat([]string{"(1"}, said, []string{"u"})...)
		v.Skipped, v.Gap = 7, between+1
		if got := assemble.Cuts(v)[1]; got != free {
			t.Errorf("%d items between a call and the gap: a cut after the call is %v", between, got)
		}
		v = items(slices.Concat([]string{"u"}, said, []string{")1"})...)
		v.Skipped, v.Gap = 7, 1
		if got := assemble.Cuts(v)[between+1]; got != free {
			t.Errorf("%d items between the gap and a result: a cut before the result is %v", between, got)
		}
	}
}

func TestTail(t *testing.T) {
	tests := []struct {
		name   string
		view   store.View
		policy assemble.Policy
		budget int
		want   int
	}{
		{"all of a short one", items("u", "a", "u", "a"), assemble.Policy{}, 1000, 0},
		{"by count", items("u", "a", "u", "a"), assemble.Policy{FreshTail: 2}, 1000, 2},
		{"by tokens", items("u", "a", "u", "a"), assemble.Policy{FreshTailTokens: 20}, 1000, 2},
		{"half the budget", items("u", "a", "u", "a", "u", "a"), assemble.Policy{}, 60, 3},
		{"room for the pinned message", items("u", "(1", ")1", "(2", ")2", "(3", ")3"), assemble.Policy{FreshTailTokens: 1000}, 70, 3},
		{"not inside a pair", items("u", "a", "(1", ")1", "a", "u"), assemble.Policy{FreshTail: 3}, 1000, 4},
		{"the newest round at least", items("u", "a", "(1", "(2", ")1", ")2"), assemble.Policy{FreshTail: 1}, 1000, 1},
		{"only the last of the calls with their results", items("u", "=1", "=2", "=3"), assemble.Policy{FreshTail: 1}, 1000, 3},
		{"ends at a summary", items("u", "s", "a", "u"), assemble.Policy{}, 1000, 2},
		{"only a summary", items("s"), assemble.Policy{}, 1000, 0},
		{"nothing", items(), assemble.Policy{}, 1000, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := assemble.Tail(tt.view, tt.policy, tt.budget); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestPinnedIsWhatAUserSaid(t *testing.T) {
	v := items("u", "a", "u", "(1", ")1")
	v.Items[4].Role = llms.RoleUser // Anthropic's shape
	v.LastUser = 5
	if got := assemble.Pinned(v); got != 2 {
		t.Errorf("got %d", got)
	}
	if v.Skipped, v.Gap = 7, 2; assemble.Pinned(v) != 2 {
		t.Errorf("just after a gap: got %d", assemble.Pinned(v))
	}
}

func TestTailIsALegalCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawHistory(t, 0).in.View
		budget := rapid.IntRange(50, 5000).Draw(t, "budget")
		p := assemble.Policy{FreshTail: rapid.IntRange(0, 20).Draw(t, "count")}
		at := assemble.Tail(v, p, budget)
		if !assemble.Cuts(v)[at] {
			t.Fatalf("tail at %d parts a pair", at)
		}
		if at == len(v.Items) && at > 0 {
			t.Fatal("the tail is empty")
		}
	})
}

// The pinned message is the newest one of the user: the view says which that is, as hosts write in the user's
// name too, and it may be among the messages that were not read.
func TestPinned(t *testing.T) {
	item := func(pos int64, role llms.Role, results ...string) store.Item {
		return store.Item{Pos: pos, ID: store.ID{Message: store.MessageID(pos)}, Role: role, Results: results}
	}
	items := []store.Item{item(1, llms.RoleUser), item(2, llms.RoleAssistant), item(3, llms.RoleUser), item(4, llms.RoleUser, "c1"), item(5, llms.RoleAssistant)}
	for name, c := range map[string]struct {
		lastUser int64
		gap      int // -1 for none
		want     int
	}{
		"the newest": {0, -1, 2}, "as the view says": {3, -1, 2}, "what the host wrote": {1, -1, 0}, "before the gap": {3, 3, 2}, "in the gap": {9, 3, -1}, "behind the gap": {3, 2, 2},
	} {
		v := store.View{Items: items, LastUser: c.lastUser, Gap: len(items)}
		if c.gap >= 0 {
			v.Skipped, v.Gap = 5, c.gap
		}
		if got := assemble.Pinned(v); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
