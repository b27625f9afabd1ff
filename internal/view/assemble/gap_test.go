package assemble_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

// skip leaves items of the view out, as a store does that was not asked for them.
func (h *history) skip(from, to int) *history {
	v := &h.in.View
	for _, it := range v.Items[from:to] {
		if it.Pos == v.LastUser {
			v.LastUserItem = &it
		}
	}
	v.Items = slices.Delete(slices.Clone(v.Items), from, to)
	v.Skipped, v.Gap = to-from, from
	return h
}

// said lists the first word of each message, and "…" for the notice of a gap.
func said(ms []llms.Message) string {
	var words []string
	for _, m := range ms {
		word, _, _ := strings.Cut(m.Render(), " ")
		words = append(words, strings.ReplaceAll(word, "[Earlier", "…"))
	}
	return strings.Join(words, " ")
}

// The newest user message is shown once, also where the store skipped it.
func TestTheNewestUserMessageBesideAGap(t *testing.T) {
	for name, c := range map[string]struct {
		change func(h *history)
		want   string
	}{
		"skipped":     {func(h *history) { h.skip(1, 3) }, "… before TASK after"},
		"not skipped": {func(h *history) { pin := h.in.View.Items[1]; h.skip(2, 3).in.View.LastUserItem = &pin }, "… before TASK after"},
		"a result in Anthropic's shape": {func(h *history) {
			h.in.View.Items[1].Results = []string{"c1"}
			h.skip(1, 3)
		}, "… before after"},
		"none": {func(h *history) { h.skip(1, 3).in.View.LastUserItem = nil }, "… before after"},
		"of a view that has no gap": {func(h *history) {
			h.skip(1, 3).in.View.Skipped = 0
			h.in.View.Gap = 2
		}, "before after"},
	} {
		h := newHistory(1000).add(llms.Assistant("before"), llms.User("TASK"), llms.Assistant("work"), llms.Assistant("after"))
		c.change(h)
		if got := said(build(t, h).Messages); got != c.want {
			t.Errorf("%s: the model is shown %q, want %q", name, got, c.want)
		}
	}
}

// The model is told of a gap, even if an old message gives way to the notice.
func TestTheNoticeOfAGapComesFirst(t *testing.T) {
	for name, from := range map[string]int{"after the task": 1, "around the task": 0} {
		h := newHistory(0).add(llms.User("TASK"), llms.Assistant("skipped"), llms.Assistant("old "+words(60)), llms.Assistant("new")).skip(from, 2)
		h.in.Budget = h.in.View.Tokens - llms.CountMessage(llms.Estimate, llms.Assistant("skipped"))
		if got := said(build(t, h).Messages); got != "… TASK new" {
			t.Errorf("a gap %s: the model is shown %q", name, got)
		}
	}
}

// Calls whose results were skipped do not take messages beyond the gap out with them.
func TestAGapPartsGroups(t *testing.T) {
	h := newHistory(200).add(llms.User("TASK"), llms.Calls(words(300), llms.ToolCall{ID: "c1", Name: "sh", Arguments: "{}"}), round("c1", "x")[1],
		round("c2", "")[0], llms.Assistant("middle"), round("c2", "y")[1], llms.Assistant("last")).skip(2, 4)
	if got := said(build(t, h).Messages); got != "… TASK middle last" {
		t.Errorf("the model is shown %q", got)
	}
	h = newHistory(200).add(round("c1", "x")...)
	h.in.View.Gap = 1 // nothing is skipped there
	if out := build(t, h); len(out.Repairs) > 0 {
		t.Errorf("where nothing is skipped: %v", out.Repairs)
	}
}

// A round that does not fit beside the user's message is shown in part.
func TestTheNewestRoundLeavesRoomForTheTask(t *testing.T) {
	h := newHistory(120).add(llms.User("TASK " + words(60))).add(round("c1", words(60))...).add(llms.Assistant("last"))
	if got := said(build(t, h).Messages); !strings.HasSuffix(got, "TASK last") {
		t.Errorf("the model is shown %q", got)
	}
}

// The counts of a view are taken over if they come from the same counter.
func TestCountsOfTheView(t *testing.T) {
	h := newHistory(1000).add(llms.User("hello"))
	right := h.in.View.Items[0].Tokens
	h.in.View.Items[0].Tokens = 77
	for counted, want := range map[bool]int{false: right, true: 77} {
		h.in.Counted = counted
		if diff := cmp.Diff([]assemble.Shown{{ID: store.ID{Message: 1}, Tokens: want}}, build(t, h).Items); diff != "" {
			t.Errorf("Counted is %v: %s", counted, diff)
		}
	}
	h.in.Counter = nil
	if _, err := assemble.Build(h.in); err == nil {
		t.Error("without a counter there is no error")
	}
}
