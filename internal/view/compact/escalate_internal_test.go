package compact

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// The summary before a fold is given for continuity, but not one beyond a gap.
func TestSummaryBeforeAFold(t *testing.T) {
	n := run{view: store.View{Items: []store.Item{{ID: store.ID{Summary: "sum_a"}}, {ID: store.ID{Message: 1}}}, Gap: 1}}
	if got := n.before(Fold{From: 1, To: 2}); got != "sum_a" {
		t.Errorf("got %q", got)
	}
	n.view.Skipped = 7
	if got := n.before(Fold{From: 1, To: 2}); got != "" {
		t.Errorf("beyond a gap: got %q", got)
	}
}

// A summary must make the view smaller, and a model's text may not be far longer than asked for.
func TestWhichSummariesAreAccepted(t *testing.T) {
	n := run{Runner: &Runner{counter: llms.Estimate}}
	m := &material{shape: store.Summary{ID: placeholder, Kind: summary.Leaf, Messages: 9}}
	text := strings.Repeat("word ", 100) + "\n" + summary.Footer + "x"
	size := m.rendered(llms.Estimate, text)
	long := (llms.Estimate.Count(text)*2 + 2) / 3 // the least target that allows the text
	for _, tt := range []struct {
		name            string
		sources, target int
		level           summary.Level
		want            bool
	}{
		{"a token smaller than its sources", size + 1, 1000, summary.Normal, true},
		{"as large as its sources", size, 1000, summary.Normal, false},
		{"as long as it may be", 1000, long, summary.Normal, true},
		{"a token longer", 1000, long - 1, summary.Normal, false},
		{"a token longer, when asked to be brief", 1000, long - 1, summary.Aggressive, false},
		{"a token longer, without a model", 1000, long - 1, summary.Fallback, true},
	} {
		w, ok := n.accept(Fold{Tokens: tt.sources}, m, summary.Request{Level: tt.level, Target: tt.target}, summary.Result{Text: " " + text})
		if ok != tt.want || ok && (w.Tokens != size || w.Body != text) {
			t.Errorf("%s: %v, %d tokens of %d, %q", tt.name, ok, w.Tokens, size, w.Body)
		}
	}
	least := m.rendered(llms.Estimate, bareText(9))
	if w, err := n.bare(Fold{Tokens: least + 1}, m); err != nil || w.Tokens != least || n.report.Bare != 1 {
		t.Errorf("the shortest summary, a token smaller than its sources: %+v, %v", w, err)
	}
	if _, err := n.bare(Fold{Tokens: least}, m); !errors.Is(err, errNotSmaller) {
		t.Errorf("the shortest summary, as large as its sources: %v", err)
	}
}

// A summary says from when to when its sources are, and names each file of theirs once.
func TestWhatASummaryCovers(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	file := func(id string) llms.Part { return llms.Part{Kind: llms.PartBlob, Ref: &llms.Ref{ID: id}} }
	m := &material{}
	late := m.addMessage(&store.Message{Stored: at(20), Body: llms.Message{Role: llms.RoleTool, Time: at(9), Parts: []llms.Part{file("a"), file("b")}}}, 1)
	early := m.addMessage(&store.Message{Stored: at(5), Body: llms.Message{Role: llms.RoleUser, Parts: []llms.Part{file("b")}}}, 1)
	if !late.Time.Equal(at(9)) || !early.Time.Equal(at(5)) || !late.Tool || early.Tool {
		t.Errorf("%+v, %+v", late, early)
	}
	m.addSummary(store.Summary{Earliest: at(6), Latest: at(7), Messages: 3, Descendants: 2, Files: []store.PayloadID{"c", "a"}})
	want := store.Summary{Earliest: at(5), Latest: at(9), Messages: 5, Descendants: 3, Files: []store.PayloadID{"a", "b", "c"}}
	if diff := cmp.Diff(want, m.shape); diff != "" {
		t.Error(diff)
	}
}

func TestTidy(t *testing.T) {
	for text, want := range map[string]string{
		" a\tb\n": "a\tb", "a\x00\r\x1b\x7fb": "ab", "\u0080é\u009f": "é", "a\xffb": "a\uFFFDb", "漢\n😀": "漢\n😀", "\u00c2": "\u00c2",
	} {
		if got := tidy(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
