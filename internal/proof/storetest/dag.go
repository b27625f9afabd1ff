package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

func testWindows(t *testing.T, f *fixture) {
	c := f.conversation(t, "windows")
	f.fill(t, c.ID, 10)
	for _, w := range []struct {
		window  store.Window
		items   string
		skipped int
		gap     int
	}{
		{store.Window{}, "msg_1 msg_2 msg_3 msg_4 msg_5 msg_6 msg_7 msg_8 msg_9 msg_10", 0, 10},
		{store.Window{Newest: 2}, "msg_9 msg_10", 8, 0},
		{store.Window{Oldest: 2}, "msg_1 msg_2", 8, 2},
		{store.Window{Oldest: 2, Newest: 3}, "msg_1 msg_2 msg_8 msg_9 msg_10", 5, 2},
		{store.Window{Oldest: 7, Newest: 7}, "msg_1 msg_2 msg_3 msg_4 msg_5 msg_6 msg_7 msg_8 msg_9 msg_10", 0, 10},
		{store.Window{NewestTokens: 25}, "msg_8 msg_9 msg_10", 7, 0},
		{store.Window{Newest: 2, NewestTokens: 25}, "msg_9 msg_10", 8, 0},
	} {
		v := must(f.View(t.Context(), c.ID, w.window))(t)
		what := fmt.Sprintf("%+v", w.window)
		want(t, what, show(v), w.items)
		want(t, what+" skipped", v.Skipped, w.skipped)
		want(t, what+" gap", v.Gap, w.gap)
		want(t, what+" tokens", v.Tokens, 100)
		want(t, what+" last user", v.LastUser, 9)
		want(t, what+" has the last user's item apart", v.LastUserItem != nil, !strings.Contains(w.items, "msg_9"))
	}
}

func testLastUser(t *testing.T, f *fixture) {
	c := f.conversation(t, "last user")
	result, reminder := row(llms.RoleUser, "a tool result in a user message"), row(llms.RoleUser, "a reminder by the host")
	result.Format, result.Record = llms.FormatAnthropic, []byte(`{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "the result"}]}`)
	result.Size, result.SHA256 = int64(len(result.Record)), sha256.Sum256(result.Record)
	result.Results, reminder.Flags = []string{"c1"}, store.FlagSynthetic
	f.append(t, c.ID, row(llms.RoleUser, "what the user said"), row(llms.RoleAssistant, "ok"), result, reminder)
	want(t, "the newest that the user said", f.view(t, c.ID).LastUser, 1)
	f.fill(t, c.ID, 1)
	want(t, "a newer one", f.view(t, c.ID).LastUser, 5)
	f.rewind(t, c.ID, 4)
	want(t, "after a rewind", f.view(t, c.ID).LastUser, 1)
}

func testFold(t *testing.T, f *fixture) {
	c := f.conversation(t, "fold")
	ids := f.fill(t, c.ID, 6)
	s := f.fold(t, c.ID, 0, 3, "four messages\nExpand for details about: them")
	want(t, "kind", s.Kind, summary.Leaf)
	want(t, "depth", s.Depth, 0)
	want(t, "messages", s.Messages, 4)
	want(t, "source tokens", s.SourceTokens, 40)
	want(t, "message tokens", s.MessageTokens, 40)
	want(t, "earliest", s.Earliest, f.now)
	want(t, "latest", s.Latest, f.now.Add(3*time.Minute))
	if !strings.HasPrefix(string(s.ID), "sum_") || len(s.ID) != 20 {
		t.Errorf("id is %q", s.ID)
	}
	view := f.view(t, c.ID)
	want(t, "view", show(view), fmt.Sprintf("%s msg_5 msg_6", s.ID))
	want(t, "view tokens", view.Tokens, 23)
	sources := must(f.Sources(t.Context(), s.ID))(t)
	want(t, "sources", fmt.Sprint(sources), "[msg_1 msg_2 msg_3 msg_4]")
	derived := must(f.Derived(t.Context(), store.ID{Message: ids[2]}))(t)
	want(t, "derived", fmt.Sprint(derived), fmt.Sprintf("[%s]", s.ID))
}

// testFolds: several folds in one transaction, where later ones use earlier ones, are
// equal to separate ones; a stale one rolls all of them back.
func testFolds(t *testing.T, f *fixture) {
	c := f.conversation(t, "folds")
	f.fill(t, c.ID, 8)
	items := f.view(t, c.ID).Items
	var a, b, ab store.Summary
	folds := func(over []store.Item) error {
		return f.Update(t.Context(), c.ID, func(w store.Writer) (err error) {
			if a, err = w.Fold(t.Context(), store.NewSummary{Over: items[:3], Wording: wording("a")}); err != nil {
				return err
			}
			if b, err = w.Fold(t.Context(), store.NewSummary{Over: over, Wording: wording("b")}); err != nil {
				return err
			}
			made := func(s store.Summary) store.Item {
				return store.Item{Pos: s.Pos, ID: store.ID{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth}
			}
			ab, err = w.Fold(t.Context(), store.NewSummary{Over: []store.Item{made(a), made(b)}, Wording: wording("ab")})
			return err
		})
	}
	if err := folds(items[2:5]); !errors.Is(err, store.ErrStale) {
		t.Fatalf("the second fold overlaps the first: %v", err)
	}
	want(t, "the view after nothing was folded", show(f.view(t, c.ID)), "msg_1 msg_2 msg_3 msg_4 msg_5 msg_6 msg_7 msg_8")
	want(t, "fold again", folds(items[3:5]), nil)
	want(t, "the view", show(f.view(t, c.ID)), fmt.Sprintf("%s msg_6 msg_7 msg_8", ab.ID))
	want(t, "their numbers", fmt.Sprint(a.Messages, b.Messages, ab.Messages, ab.Depth, ab.Descendants), "3 2 5 1 2")
	v := f.sound(t, c.ID)
	want(t, "verified", fmt.Sprint(v.Messages, v.Summaries), "8 3")
}

func testFoldDeep(t *testing.T, f *fixture) {
	c := f.conversation(t, "deep")
	f.fill(t, c.ID, 16)
	f.fold(t, c.ID, 0, 3, "a")
	f.fold(t, c.ID, 1, 4, "b")
	d1 := f.fold(t, c.ID, 0, 1, "ab")
	// A message stranded between summaries is folded along with them.
	f.fold(t, c.ID, 2, 4, "c")
	d2 := f.fold(t, c.ID, 0, 2, "ab, a message, c")
	d3 := f.fold(t, c.ID, 0, 0, "all of it, shorter")
	want(t, "depths", fmt.Sprint(d1.Depth, d2.Depth, d3.Depth), "1 2 3")
	want(t, "kind", d2.Kind, summary.Condensed)
	want(t, "messages", d2.Messages, 12)
	want(t, "descendants", d2.Descendants, 4)
	want(t, "descendants of one more", d3.Descendants, 5)
	want(t, "message tokens", d3.MessageTokens, 120)
	conv := must(f.Conversation(t.Context(), c.ID))(t)
	want(t, "summaries", conv.Summaries, 6)
	v := f.sound(t, c.ID)
	want(t, "verified", fmt.Sprint(v.Messages, v.Summaries), "16 6")
}

func testStale(t *testing.T, f *fixture) {
	c := f.conversation(t, "stale")
	f.fill(t, c.ID, 6)
	before := f.view(t, c.ID)
	f.fill(t, c.ID, 2)
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error {
		_, err := w.Fold(ctx, store.NewSummary{Over: before.Items[:2], Wording: wording("appends do not make it stale")})
		return err
	})
	for what, over := range map[string][]store.Item{
		"folded already":  before.Items[:2],
		"partly folded":   before.Items[1:4],
		"not neighbours":  {before.Items[2], before.Items[4]},
		"nothing at all":  nil,
		"out of order":    {before.Items[3], before.Items[2]},
		"never was there": {{Pos: 99, ID: store.ID{Message: 99}}},
	} {
		err := f.Update(t.Context(), c.ID, func(w store.Writer) error {
			return second(w.Fold(t.Context(), store.NewSummary{Over: over, Wording: wording("x")}))
		})
		if err == nil || len(over) > 0 && !errors.Is(err, store.ErrStale) {
			t.Errorf("%s: got %v, want ErrStale", what, err)
		}
	}
}

func testReword(t *testing.T, f *fixture) {
	c := f.conversation(t, "reword")
	f.fill(t, c.ID, 4)
	s := f.fold(t, c.ID, 0, 2, "first wording")
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error {
		got, err := w.Reword(ctx, s.ID, store.Wording{Body: "better", Tokens: 7, Level: summary.Aggressive, Method: "model", Model: "m1", TokensIn: 5, TokensOut: 2})
		want(t, "revision", got.Revision, 1)
		return err
	})
	for _, got := range f.summaries(t, store.SummaryQuery{Conversation: c.ID}) {
		want(t, "body", got.Body, "better")
		want(t, "method", got.Method+" "+got.Model, "model m1")
		want(t, "messages", got.Messages, 3)
	}
	want(t, "view tokens", f.view(t, c.ID).Tokens, 17)
}

func testStub(t *testing.T, f *fixture) {
	c := f.conversation(t, "stub")
	ids := f.fill(t, c.ID, 3)
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error { return w.Stub(ctx, ids[1], 4) })
	v := f.view(t, c.ID)
	want(t, "stub", fmt.Sprint(v.Items[0].Stub, v.Items[1].Stub, v.Items[2].Stub), "false true false")
	want(t, "tokens", v.Tokens, 24)
	f.sound(t, c.ID)
	err := f.Update(t.Context(), c.ID, func(w store.Writer) error { return w.Stub(t.Context(), 99, 4) })
	wantErr(t, "stub of a message that is not in the view", err, store.ErrStale)
	if err := f.Update(t.Context(), c.ID, func(w store.Writer) error { return w.Stub(t.Context(), ids[0], 10) }); err == nil {
		t.Error("a stub is as large as its message")
	}
}

func testPayloads(t *testing.T, f *fixture) {
	c := f.conversation(t, "payloads")
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	copy(data[700_000:], "needle")
	var id, again store.PayloadID
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) (err error) {
		p := store.NewPayload{Data: data, Name: "log.txt", MIME: "text/plain", Kind: "log", Summary: "lines", Tokens: 42, Path: "/var/log.txt"}
		if id, err = w.PutPayload(ctx, p); err != nil {
			return err
		}
		again, err = w.PutPayload(ctx, p)
		return err
	})
	sum := sha256.Sum256(data)
	want(t, "the same content has the same id", again, id)
	want(t, "id", string(id), fmt.Sprintf("file_%x", sum[:8]))
	p := must(f.Payload(t.Context(), id))(t)
	want(t, "described", fmt.Sprint(p.Name, p.MIME, p.Kind, p.Summary, p.Tokens, p.Size, p.Path), "log.txttext/plainloglines42 1048576/var/log.txt")
	want(t, "hash", p.SHA256, sum)
	for _, r := range [][2]int64{{0, 16}, {700_000, 6}, {262_140, 8}, {1<<20 - 3, 3}, {0, 1 << 20}} {
		got := make([]byte, r[1])
		if _, err := p.Content.ReadAt(got, r[0]); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if !bytes.Equal(got, data[r[0]:r[0]+r[1]]) {
			t.Errorf("bytes %d to %d are wrong", r[0], r[0]+r[1])
		}
	}
	if n, err := p.Content.ReadAt(make([]byte, 10), 1<<20-3); n != 3 || err != io.EOF {
		t.Errorf("reading past the end gave %d, %v", n, err)
	}
}

func testCarved(t *testing.T, f *fixture) {
	c := f.conversation(t, "carved")
	long := strings.Repeat("a line of output\n", 5000)
	record := []byte(`{"role":"tool","tool_call_id":"c1","content":"` + strings.ReplaceAll(long, "\n", `\n`) + `"}`)
	template, cuts := wire.Carve(record, 1000)
	if len(cuts) != 1 {
		t.Fatalf("%d cuts", len(cuts))
	}
	body := llms.Result("c1", "shell", "", false)
	body.Parts[0].Result.Output[0].Ref = &llms.Ref{ID: "file_x"}
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error {
		id, err := w.PutPayload(ctx, store.NewPayload{Data: cuts[0].Content})
		if err != nil {
			return err
		}
		_, err = w.Append(ctx, store.NewMessage{
			Role: llms.RoleTool, Format: llms.FormatOpenAI, Record: template, Size: int64(len(record)), SHA256: sha256.Sum256(record), Tokens: 20,
			Cuts: []store.Cut{{At: cuts[0].At, Style: cuts[0].Style, Payload: id}}, Payloads: []store.PayloadID{id}, Body: &body, Results: []string{"c1"},
		})
		return err
	})
	got := must(f.Record(t.Context(), 1))(t)
	if !bytes.Equal(got, record) {
		t.Errorf("the record came back with %d bytes, %d went in", len(got), len(record))
	}
	m := f.messages(t, store.MessageQuery{Conversation: c.ID})[0]
	want(t, "the body has the reference", m.Body.Parts[0].Result.Output[0].Ref.ID, "file_x")
	want(t, "links", fmt.Sprint(f.view(t, c.ID).Items[0].Results), "[c1]")
	s := f.fold(t, c.ID, 0, 0, "it")
	want(t, "files", len(s.Files), 1)
}
