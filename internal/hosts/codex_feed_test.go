package hosts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/hosts"
)

// rollout writes a rollout and returns it. A name that ends in .zst is
// compressed.
func (b *bed) rollout(name string, lines ...string) hosts.Transcript {
	b.Helper()
	path := filepath.Join(b.home, ".codex", "sessions", "2026", "01", "02", "rollout-2026-01-02T03-04-05-"+name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	content := []byte(strings.Join(lines, ""))
	if strings.HasSuffix(name, ".zst") {
		e, err := zstd.NewWriter(nil)
		if err != nil {
			b.Fatal(err)
		}
		content = e.EncodeAll(content, nil)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	t, err := b.feed.ByPath(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func item(n int, role, text string) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:05Z","ordinal":%d,"type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`+"\n", n, role, text)
}

// Records that were read are recognised after the file is compressed, and after the
// cursor is lost.
func TestCompressedRollout(t *testing.T) {
	lines := []string{item(0, "user", "<environment_context>"), item(1, "user", "one"), item(2, "assistant", "two"), item(3, "user", "three")}
	b := newBed(t)
	first := b.catchUp(b.rollout("t.jsonl", lines...), hosts.Limits{})
	if err := os.Remove(first.Transcript.Path); err != nil {
		t.Fatal(err)
	}
	packed := b.rollout("t.jsonl.zst", lines...)
	if r := b.catchUp(packed, hosts.Limits{}); r.Records != 0 || !r.Complete {
		t.Errorf("compressed: %+v", r)
	}
	v, err := b.db.Get(t.Context(), "hosts", packed.Key())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.db.Delete(t.Context(), "hosts", packed.Key(), v.Version); err != nil {
		t.Fatal(err)
	}
	if r := b.catchUp(packed, hosts.Limits{}); r.New != 0 || r.Known != len(lines) {
		t.Errorf("without its cursor: %+v", r)
	}
	b.want(first.Conversation, "<environment_context>", "one", "two", "three")
}

// history is the first record of a file that continues a thread after the records
// before n.
func history(thread string, n int) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-02T03:04:05Z","ordinal":%d,"type":"session_meta","payload":{"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d}}}`+"\n", n, thread, n)
}

// A thread goes on in a new file when the user goes back. Its files are one session,
// however they come in.
func TestRevisions(t *testing.T) {
	const second, third = "t_00000000-0000-0000-0000-000000000002.jsonl", "t_00000000-0000-0000-0000-000000000003.jsonl"
	files := []struct {
		name  string
		lines []string
	}{
		{"t.jsonl", []string{item(0, "user", "one"), item(1, "assistant", "two"), item(2, "user", "three"), item(3, "assistant", "four")}},
		{second, []string{history("t", 2), item(3, "user", "another three"), item(4, "assistant", "another four"), item(5, "user", "five")}},
		{third, []string{history("t", 4), item(5, "assistant", "a third four"), item(6, "user", "another five")}},
	}
	for _, step := range []int{1, 2, 4} {
		b := newBed(t)
		var r hosts.Report
		for _, f := range files {
			for end := step; ; end += step {
				r = b.catchUp(b.rollout(f.name, f.lines[:min(end, len(f.lines))]...), hosts.Limits{})
				if r.Known > 0 {
					t.Errorf("%s is read again", f.name)
				}
				if end >= len(f.lines) {
					break
				}
			}
		}
		b.want(r.Conversation, "one", "two", "another three", "a third four", "another five")
		if r := b.catchUp(b.rollout("t.jsonl", files[0].lines...), hosts.Limits{}); r.Records != 0 || !strings.HasSuffix(r.Transcript.Path, third) {
			t.Errorf("read again: %+v", r)
		}
	}
	b := newBed(t)
	var last hosts.Transcript
	for _, f := range files {
		last = b.rollout(f.name, f.lines...)
	}
	r := b.catchUp(last, hosts.Limits{})
	b.want(r.Conversation, "one", "two", "another three", "a third four", "another five")
	if r.Records != 11 || r.Transcript.Key() != "codex:t" {
		t.Errorf("all at once: %+v", r)
	}
}

// A fork shares the history of its origin up to the fork, and does not repeat it. It is
// read first if it comes in first. The user may go back into the shared history.
func TestForkOfThread(t *testing.T) {
	const back = "u_00000000-0000-0000-0000-000000000004.jsonl"
	b := newBed(t)
	write := func() hosts.Transcript {
		b.rollout("t.jsonl", item(0, "user", "one"), item(1, "assistant", "two"), item(2, "user", "three"), item(3, "assistant", "four"))
		return b.rollout("u.jsonl", history("t", 2), item(3, "user", "another three"), item(4, "assistant", "another four"))
	}
	fork := b.catchUp(write(), hosts.Limits{})
	b.want(fork.Conversation, "one", "two", "another three", "another four")
	if fork.New != 3 {
		t.Errorf("%+v", fork)
	}
	again := b.rollout("v.jsonl", history("u", 4), item(5, "assistant", "a third four"))
	b.want(b.catchUp(again, hosts.Limits{}).Conversation, "one", "two", "another three", "a third four")
	shared := b.rollout("w.jsonl", history("u", 1), item(2, "assistant", "another two"))
	b.want(b.catchUp(shared, hosts.Limits{}).Conversation, "one", "another two")
	r := b.catchUp(b.rollout(back, history("t", 1), item(2, "assistant", "a third two")), hosts.Limits{})
	b.want(r.Conversation, "one", "a third two")
	if r.Conversation != fork.Conversation {
		t.Errorf("the fork is conversation %d, and %d after going back", fork.Conversation, r.Conversation)
	}
	missing := b.rollout("x.jsonl", history("nowhere", 2), item(3, "user", "alone"))
	b.want(b.catchUp(missing, hosts.Limits{}).Conversation, "alone")
}

// A transcript that has changed, and has no complete record more, is that of the
// conversation in which it is stored.
func TestConversationWithoutNewRecords(t *testing.T) {
	b := newBed(t)
	first := b.catchUp(b.rollout("t.jsonl", item(0, "user", "one")), hosts.Limits{})
	again := b.catchUp(b.rollout("t.jsonl", item(0, "user", "one"), "{"), hosts.Limits{})
	if again.Records != 0 || again.Conversation != first.Conversation || first.Conversation == 0 {
		t.Errorf("conversation %d, then %d with %d records", first.Conversation, again.Conversation, again.Records)
	}
}
