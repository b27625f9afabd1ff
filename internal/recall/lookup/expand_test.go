package lookup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

func (f *fixture) expand(r recall.ExpandRequest) recall.ExpandAnswer {
	f.t.Helper()
	a, err := f.Expand(f.t.Context(), r)
	if err != nil {
		f.t.Fatalf("expand %+v: %v", r, err)
	}
	return a
}

// deep folds twelve messages into a DAG of depth two: two leaves and a
// stranded message under a condensed summary.
func deep(f *fixture) (c store.ConversationID, left, right, top store.Summary) {
	c = f.open("deep")
	f.say(c, messages(12, number)...)
	left = f.fold(c, 0, 2, "one to three")
	right = f.fold(c, 2, 4, "five to seven")
	top = f.fold(c, 0, 2, "one to seven")
	return c, left, right, top
}

func shape(a recall.ExpandAnswer) string {
	var all []string
	for _, p := range a.Pieces {
		all = append(all, fmt.Sprintf("%d:%s", p.Level, p.ID))
	}
	return strings.Join(all, " ")
}

func TestExpandGoesDownFirst(t *testing.T) {
	f := newFixture(t)
	c, left, right, top := deep(f)
	above := f.fold(c, 0, 1, "one to eight")
	no := false
	for _, x := range []struct {
		what string
		r    recall.ExpandRequest
		want string
	}{
		{"all the way", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}},
			fmt.Sprintf("1:%s 2:msg_1 2:msg_2 2:msg_3 1:msg_4 1:%s 2:msg_5 2:msg_6 2:msg_7", left.ID, right.ID)},
		{"one step", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, Depth: 1}, fmt.Sprintf("1:%s 1:msg_4 1:%s", left.ID, right.ID)},
		{"summaries alone", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, IncludeMessages: &no}, fmt.Sprintf("1:%s 1:%s", left.ID, right.ID)},
		{"two", recall.ExpandRequest{SummaryIDs: []store.SummaryID{right.ID, left.ID}}, "1:msg_5 1:msg_6 1:msg_7 1:msg_1 1:msg_2 1:msg_3"},
		{"one beneath the other", recall.ExpandRequest{SummaryIDs: []store.SummaryID{left.ID, top.ID}},
			fmt.Sprintf("1:msg_1 1:msg_2 1:msg_3 1:%s 1:msg_4 1:%s 2:msg_5 2:msg_6 2:msg_7", left.ID, right.ID)},
		{"one beneath the other, to a depth", recall.ExpandRequest{SummaryIDs: []store.SummaryID{above.ID, top.ID}, Depth: 2},
			fmt.Sprintf("1:%s 2:%s 2:msg_4 2:%s 1:msg_8 2:msg_1 2:msg_2 2:msg_3 2:msg_5 2:msg_6 2:msg_7", top.ID, left.ID, right.ID)},
		{"a pasted reference", recall.ExpandRequest{SummaryIDs: []store.SummaryID{store.SummaryID(fmt.Sprintf("[LCM Summary: %s | leaf]", left.ID))}}, "1:msg_1 1:msg_2 1:msg_3"},
	} {
		x.r.Where = recall.Where{Current: c}
		a := f.expand(x.r)
		if diff := cmp.Diff(x.want, shape(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.what, diff)
		}
		for _, p := range a.Pieces {
			if !p.Complete || p.Offset != 0 || p.Size != len(p.Text) {
				t.Errorf("%s: %s is cut", x.what, p.ID)
			}
		}
	}
	a := f.expand(recall.ExpandRequest{SummaryIDs: []store.SummaryID{left.ID}, Where: recall.Where{Current: c}})
	want := recall.Piece{ID: idOf("msg_2"), Type: "message", Role: "user", ConversationID: c, CreatedAt: left.Earliest.Add(60e9), Level: 1,
		Text: "message number 2", Size: 16, Complete: true, Tokens: a.Pieces[1].Tokens}
	if diff := cmp.Diff(want, a.Pieces[1]); diff != "" {
		t.Errorf("a piece (-want +got):\n%s", diff)
	}
}

func TestExpandRefuses(t *testing.T) {
	f := newFixture(t)
	c, left, _, top := deep(f)
	other := f.open("other")
	here := recall.Where{Current: c}
	cursor := f.expand(recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, TokenCap: 5, Where: here}).NextCursor
	for _, x := range []struct {
		what string
		r    recall.ExpandRequest
		is   error
		says []string
	}{
		{"nothing", recall.ExpandRequest{Where: here}, nil, []string{"empty"}},
		{"a message", recall.ExpandRequest{SummaryIDs: []store.SummaryID{"msg_1"}, Where: here}, nil, []string{"msg_1", "lcm_describe"}},
		{"no such summary", recall.ExpandRequest{SummaryIDs: []store.SummaryID{"sum_00"}, Where: here}, store.ErrNotFound, []string{"sum_00", "lcm_grep"}},
		{"another conversation's", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, Where: recall.Where{Current: other}}, recall.ErrOutOfScope,
			[]string{fmt.Sprintf("conversationId: %d", c), "allConversations: true"}},
		{"no tokens", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, TokenCap: -1, Where: here}, nil, []string{"tokenCap"}},
		{"a depth", recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, Depth: -1, Where: here}, nil, []string{"depth"}},
		{"another's cursor", recall.ExpandRequest{SummaryIDs: []store.SummaryID{left.ID}, Cursor: cursor, Where: here}, nil, []string{"another question"}},
	} {
		_, err := f.Expand(t.Context(), x.r)
		var refused *hint.Error
		if !errors.As(err, &refused) || !errors.Is(err, recall.ErrRefused) || x.is != nil && !errors.Is(err, x.is) {
			t.Errorf("%s: got %v", x.what, err)
			continue
		}
		contains(t, x.what, err.Error(), x.says...)
	}
}

// walk follows the cursors and joins the pieces of each node, in the order in
// which nodes first come.
func walk(rt *rapid.T, f *fixture, r recall.ExpandRequest) (order []string, whole map[string]string) {
	whole = map[string]string{}
	torn := map[string]bool{}
	open := "" // the node that the page before ended inside
	for {
		a, err := f.Expand(f.t.Context(), r)
		if err != nil {
			rt.Fatal(err)
		}
		// The pages are read as a host would, through JSON.
		b, err := json.Marshal(a)
		if err != nil {
			rt.Fatal(err)
		}
		a = recall.ExpandAnswer{}
		if err := json.Unmarshal(b, &a); err != nil {
			rt.Fatal(err)
		}
		if a.Tokens > r.TokenCap && len(a.Pieces) > 1 {
			rt.Fatalf("%d tokens in %d pieces, the cap is %d", a.Tokens, len(a.Pieces), r.TokenCap)
		}
		for i, p := range a.Pieces {
			if _, seen := whole[p.ID.String()]; seen != (p.ID.String() == open) || p.Offset != len(whole[p.ID.String()]) {
				rt.Fatalf("%s at %d of %d comes out of turn", p.ID, p.Offset, p.Size)
			}
			if p.ID.String() != open {
				order = append(order, p.ID.String())
			}
			if !p.Complete && i != len(a.Pieces)-1 {
				rt.Fatalf("%s is cut inside a page", p.ID)
			}
			open = ""
			whole[p.ID.String()] += p.Text
			if !p.Complete {
				open = p.ID.String()
			} else if len(whole[p.ID.String()]) != p.Size {
				rt.Fatalf("%s ends at %d of %d", p.ID, len(whole[p.ID.String()]), p.Size)
			}
			torn[p.ID.String()] = torn[p.ID.String()] || !utf8.ValidString(p.Text)
			if p.Complete && torn[p.ID.String()] && utf8.ValidString(whole[p.ID.String()]) {
				rt.Fatalf("%s was cut inside a character", p.ID)
			}
		}
		if a.NextCursor == "" {
			if open != "" || a.Truncated {
				rt.Fatalf("the walk ends inside %q", open)
			}
			return order, whole
		}
		if len(a.Pieces) == 0 {
			rt.Fatal("a page without progress")
		}
		r.Cursor = a.NextCursor
	}
}

// said draws the text of a message.
func said() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 200), func(b []byte) string { return string(b) }),
		rapid.StringN(0, 200, 600),
		rapid.SampledFrom([]string{"", "\x00", "漢字かな🧵👩‍👩‍👧", "\xff\xfe", "e\u0301 combining", strings.Repeat("many words here ", 40), strings.Repeat("large ", 600)}),
	)
}

// Whatever was said and however it was folded: the pages of Expand hold what
// every message beneath said, once, and with Raw its record.
func TestExpandReturnsEveryByteOnce(t *testing.T) {
	f := newFixture(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		c := f.open(fmt.Sprint("random ", round))
		n := rapid.IntRange(1, 12).Draw(rt, "messages")
		for i := range n {
			text := said().Draw(rt, "text")
			m := llms.User(text)
			switch rapid.IntRange(0, 3).Draw(rt, "shape") {
			case 0:
				m = llms.Calls(text, llms.ToolCall{ID: fmt.Sprint(i), Name: "shell", Arguments: said().Draw(rt, "arguments")})
			case 1:
				m = llms.Result(fmt.Sprint(i), "shell", text, rapid.Bool().Draw(rt, "error"))
			}
			if _, err := f.in.Append(t.Context(), c, ingest.Messages(m)...); err != nil {
				rt.Fatal(err)
			}
		}
		var all []store.Summary
		for items := n; len(all) < 8 && rapid.IntRange(0, 9).Draw(rt, "fold") > 0; {
			from := rapid.IntRange(0, items-1).Draw(rt, "from")
			to := min(items-1, from+rapid.IntRange(0, 5).Draw(rt, "size"))
			all = append(all, f.fold(c, from, to, "∑ "+rapid.StringN(0, 100, 300).Draw(rt, "summary")))
			items -= to - from
		}
		if len(all) == 0 {
			return
		}
		r := recall.ExpandRequest{Where: recall.Where{Current: c}, TokenCap: rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 3000)).Draw(rt, "cap")}
		var roots []store.SummaryID
		for range rapid.IntRange(1, 2).Draw(rt, "roots") {
			root := rapid.SampledFrom(all).Draw(rt, "root")
			roots = append(roots, root.ID)
			r.SummaryIDs = append(r.SummaryIDs, root.ID)
		}
		order, got := walk(rt, f, r)
		want := map[string]string{}
		for _, id := range roots {
			beneath(rt, f, id, want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("(-record +pages):\n%s", diff)
		}
		if len(order) != len(want) {
			rt.Fatalf("%d nodes came, %d lie beneath", len(order), len(want))
		}
	})
}

// beneath collects the texts of everything beneath a summary, by another road
// than the one that is tested.
func beneath(rt *rapid.T, f *fixture, id store.SummaryID, texts map[string]string) {
	nodes, err := f.db.Sources(f.t.Context(), id)
	if err != nil {
		rt.Fatal(err)
	}
	for _, n := range nodes {
		if n.IsSummary() {
			for s, err := range f.db.Summaries(f.t.Context(), store.SummaryQuery{IDs: []store.SummaryID{n.Summary}}) {
				if err != nil {
					rt.Fatal(err)
				}
				texts[n.String()] = s.Body
			}
			beneath(rt, f, n.Summary, texts)
			continue
		}
		record, err := f.db.Record(f.t.Context(), n.Message)
		if err != nil {
			rt.Fatal(err)
		}
		texts[n.String()] = string(record)
		if format, err := wire.Detect(record); err == nil && format == llms.FormatLCM {
			m, err := wire.Decode(format, "", record)
			if err != nil {
				rt.Fatal(err)
			}
			texts[n.String()] = m.Render()
		}
	}
}
