package hosts_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// bed is a machine with a home directory and a database.
type bed struct {
	testing.TB
	home string
	db   *sqlite.DB
	feed *hosts.Feed
	now  time.Time
}

func newBed(t testing.TB, options ...lcm.Option) *bed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b := &bed{TB: t, home: t.TempDir(), db: db, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.feed = b.newFeed("one", options...)
	return b
}

func (b *bed) newFeed(owner string, options ...lcm.Option) *hosts.Feed {
	b.Helper()
	engine, err := lcm.New(b.db, append(options, lcm.WithoutBackground())...)
	if err != nil {
		b.Fatal(err)
	}
	feed, err := hosts.New(engine, all.Hosts(), hosts.Machine{Home: b.home}, hosts.Options{Owner: owner, Clock: func() time.Time { return b.now }})
	if err != nil {
		b.Fatal(err)
	}
	return feed
}

// line makes a line of a Claude Code transcript: the text, its id and the id that it
// answers.
func line(kind, uuid, parent, text string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","cwd":"/nowhere/project","timestamp":"2026-01-01T00:00:00Z","message":{"role":%q,"content":%q}}`+"\n",
		kind, uuid, parent, kind, text)
}

// claude writes a transcript and returns it.
func (b *bed) claude(name string, content ...string) hosts.Transcript {
	b.Helper()
	path := filepath.Join(b.home, ".claude", "projects", "-nowhere-project", name+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(content, "")), 0o600); err != nil {
		b.Fatal(err)
	}
	b.now = b.now.Add(time.Minute)
	if err := os.Chtimes(path, b.now, b.now); err != nil {
		b.Fatal(err)
	}
	t, err := b.feed.ByPath(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func (b *bed) catchUp(t hosts.Transcript, l hosts.Limits) hosts.Report {
	b.Helper()
	r, err := b.feed.CatchUp(b.Context(), t, l)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// view returns the texts in the view of a conversation.
func (b *bed) view(id store.ConversationID) (said []string) {
	b.Helper()
	v, err := b.db.View(b.Context(), id, store.Window{})
	if err != nil {
		b.Fatal(err)
	}
	for _, it := range v.Items {
		for m, err := range b.db.Messages(b.Context(), store.MessageQuery{IDs: []store.MessageID{it.Message}}) {
			if err != nil {
				b.Fatal(err)
			}
			said = append(said, m.Body.Render())
		}
	}
	proof, err := b.db.Verify(b.Context(), id)
	if err != nil || len(proof.Faults) > 0 {
		b.Errorf("verify: %v %v", proof.Faults, err)
	}
	return said
}

func (b *bed) want(id store.ConversationID, want ...string) {
	b.Helper()
	if diff := cmp.Diff(want, b.view(id)); diff != "" {
		b.Errorf("the view (-want +got):\n%s", diff)
	}
}

func TestCatchUpReadsWhatIsNew(t *testing.T) {
	b := newBed(t)
	one, two := line("user", "u1", "null", "one"), line("assistant", "u2", "u1", "two")
	r := b.catchUp(b.claude("s", one, two[:20]), hosts.Limits{})
	if r.New != 1 || !r.Complete {
		t.Errorf("%+v", r)
	}
	tr := b.claude("s", one, two)
	if lag, err := b.feed.Lag(t.Context(), tr); err != nil || !lag.Behind || lag.Bytes <= 0 {
		t.Errorf("lag %+v, %v", lag, err)
	}
	r = b.catchUp(tr, hosts.Limits{})
	if r.Records != 1 || r.New != 1 {
		t.Errorf("%+v", r)
	}
	if r = b.catchUp(tr, hosts.Limits{}); r.Records != 0 || !r.Complete || r.Conversation == 0 {
		t.Errorf("nothing is new: %+v", r)
	}
	if lag, err := b.feed.Lag(t.Context(), tr); err != nil || lag.Behind || lag.Ingested.IsZero() {
		t.Errorf("lag %+v, %v", lag, err)
	}
	b.want(r.Conversation, "one", "two")
	c, err := b.db.Conversation(t.Context(), r.Conversation)
	if err != nil {
		t.Fatal(err)
	}
	if c.Key != "claude:s" || c.Agent != "claude" || c.Project.Root != "/nowhere/project" || c.Title != "one" {
		t.Errorf("%+v", c)
	}
}

// TestTitleIsMaskedBeforeItIsCut: half a seed phrase does not look like one.
func TestTitleIsMaskedBeforeItIsCut(t *testing.T) {
	b := newBed(t, lcm.WithPrivacy(ingest.Privacy{Redact: privacy.Search}))
	const prompt = `MNEMONIC="legal winner thank year wave sausage worth useful legal winner thank yellow"`
	check := func(transcript hosts.Transcript) {
		r := b.catchUp(transcript, hosts.Limits{})
		if c, err := b.db.Conversation(t.Context(), r.Conversation); err != nil || c.Title != `MNEMONIC="[redacted: seed phrase]"` {
			t.Errorf("%s: %q, %v", transcript.Session, c.Title, err)
		}
	}
	check(b.claude("s", line("user", "u1", "null", prompt)))
	b.rollout("t.jsonl", item(0, "user", "one"), item(1, "assistant", "two"))
	check(b.rollout("u.jsonl", history("t", 1), item(2, "user", prompt))) // a fork
}

func TestRewrittenTranscriptIsStoredOnce(t *testing.T) {
	b := newBed(t)
	one, two, three := line("user", "u1", "null", "one"), line("assistant", "u2", "u1", "two"), line("user", "u3", "u2", "three")
	mode := `{"type":"mode","mode":"plan","sessionId":"s"}` + "\n"
	first := b.catchUp(b.claude("s", one, mode, two), hosts.Limits{})
	r := b.catchUp(b.claude("s", mode, one, mode, two, three), hosts.Limits{})
	if r.Known != 3 || r.New != 2 {
		t.Errorf("%+v", r)
	}
	b.want(first.Conversation, "one", "two", "three")
}

func TestBranches(t *testing.T) {
	b := newBed(t)
	lines := []string{
		line("user", "u1", "null", "one"), line("assistant", "u2", "u1", "two"), line("user", "u3", "u2", "three"), line("assistant", "u4", "u3", "four"),
		line("user", "u5", "u2", "another three"), line("assistant", "u6", "u5", "another four"),
	}
	r := b.catchUp(b.claude("s", lines...), hosts.Limits{})
	b.want(r.Conversation, "one", "two", "another three", "another four")
	// Back to the branch that was left.
	lines = append(lines, line("user", "u7", "u4", "five"))
	b.catchUp(b.claude("s", lines...), hosts.Limits{})
	b.want(r.Conversation, "one", "two", "three", "four", "five")
	// A rescan follows nothing a second time.
	again := b.catchUp(b.claude("s", append([]string{"\n"}, lines...)...), hosts.Limits{})
	if again.New != 0 || again.Known == 0 {
		t.Errorf("%+v", again)
	}
	b.want(r.Conversation, "one", "two", "three", "four", "five")
	// To the very beginning, and to something that is not there.
	lines = append(lines, line("user", "u8", "null", "six"), line("user", "u9", "gone", "seven"))
	b.catchUp(b.claude("s", lines...), hosts.Limits{})
	b.want(r.Conversation, "six", "seven")
}

// A prompt that answers a call, beside the result of the call, leaves nothing that was said: it begins no branch.
func TestPromptBesideAResult(t *testing.T) {
	b := newBed(t)
	call := `{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","cwd":"/nowhere/project","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"c1","name":"ls","input":{}}]}}` + "\n"
	result := `{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","cwd":"/nowhere/project","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"files"}]}}` + "\n"
	r := b.catchUp(b.claude("s", line("user", "u1", "null", "one"), call, result, line("user", "u4", "u2", "two")), hosts.Limits{})
	if said := b.view(r.Conversation); len(said) != 4 || said[0] != "one" || said[3] != "two" {
		t.Errorf("the view is %q", said)
	}
}

// Limits end a reading wherever they are, and the next goes on.
func TestLimits(t *testing.T) {
	b := newBed(t)
	var lines []string
	for i := range 50 {
		lines = append(lines, line("user", fmt.Sprint("u", i), fmt.Sprint("u", i-1), fmt.Sprint("m", i)))
	}
	tr := b.claude("s", lines...)
	for n := 0; ; n++ {
		r := b.catchUp(tr, hosts.Limits{Bytes: 1000})
		if r.Known > 0 {
			t.Fatalf("read twice: %+v", r)
		}
		if r.Complete {
			if n < 5 {
				t.Errorf("complete after %d calls", n)
			}
			if said := b.view(r.Conversation); len(said) != 50 || said[49] != "m49" {
				t.Errorf("%q", said)
			}
			return
		}
	}
}

func TestLeaseKeepsOthersOut(t *testing.T) {
	b := newBed(t)
	tr := b.claude("s", line("user", "u1", "null", "one"))
	// Somebody took the lease, at a process that still runs.
	owner := fmt.Sprintf(`{"owner":"%d-x","until":%q}`, os.Getpid(), b.now.Add(5*time.Second).Format(time.RFC3339))
	if _, err := b.db.Put(t.Context(), "hosts", tr.Key(), []byte(owner), 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if r := b.catchUp(tr, hosts.Limits{}); !r.Busy || r.New != 0 {
		t.Errorf("%+v", r)
	}
	b.now = b.now.Add(6 * time.Second)
	if r := b.catchUp(tr, hosts.Limits{}); r.Busy || r.New != 1 {
		t.Errorf("after it has run out: %+v", r)
	}
}

func TestSubagents(t *testing.T) {
	b := newBed(t)
	b.claude("s", line("user", "u1", "null", "one"))
	child := strings.ReplaceAll(line("user", "a1", "null", "look"), `"type"`, `"isSidechain":true,"agentId":"x","type"`)
	b.claude("s/subagents/agent-x", child)
	meta := filepath.Join(b.home, ".claude", "projects", "-nowhere-project", "s", "subagents", "agent-x.meta.json")
	if err := os.WriteFile(meta, []byte(`{"agentType":"Explore","description":"Look around"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.feed.All(t.Context(), hosts.Filter{}, nil); err != nil {
		t.Fatal(err)
	}
	convs, err := b.db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil || len(convs) != 2 {
		t.Fatal(convs, err)
	}
	slices.SortFunc(convs, func(a, b store.Conversation) int { return strings.Compare(a.Key, b.Key) })
	if c := convs[1]; c.Key != "claude:s/agent-x" || c.Parent != convs[0].ID || c.Title != "Explore: Look around" {
		t.Errorf("%+v", c)
	}
	b.want(convs[1].ID, "look")
}

func TestIgnoredSessionsAreNotStored(t *testing.T) {
	b := newBed(t, lcm.WithPrivacy(ingest.Privacy{IgnoreProjects: []string{"/nowhere/*"}, IgnoreSessions: []string{"codex:*"}}))
	b.claude("s", line("user", "u1", "null", "one"))
	b.claude("s/subagents/agent-x", line("user", "a1", "null", "look"))
	sums, err := b.feed.All(t.Context(), hosts.Filter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sums[0].Sessions != 2 || sums[0].Ignored != 2 || sums[0].New != 0 {
		t.Errorf("%+v", sums[0])
	}
	if convs, err := b.db.Conversations(t.Context(), store.ConversationQuery{}); err != nil || len(convs) != 0 {
		t.Errorf("%v %v", convs, err)
	}
}

func TestResultsOfOwnToolsAreEchoes(t *testing.T) {
	b := newBed(t)
	call := `{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"mcp__lcm__lcm_grep","input":{"pattern":"x"}}]}}` + "\n"
	result := `{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"what was found"}]}}` + "\n"
	b.catchUp(b.claude("s", line("user", "u1", "null", "one"), call), hosts.Limits{})
	r := b.catchUp(b.claude("s", line("user", "u1", "null", "one"), call, result), hosts.Limits{})
	for m, err := range b.db.Messages(t.Context(), store.MessageQuery{Conversation: r.Conversation, After: 1}) {
		if err != nil || m.Flags&store.FlagEcho == 0 {
			t.Errorf("%s has flags %b, %v", m.Native, m.Flags, err)
		}
	}
}

func TestDamageStopsNothingElse(t *testing.T) {
	b := newBed(t)
	b.claude("s", line("user", "u1", "null", "one"), "{broken\n", "\x00\xff\n", `{"type":"from-the-future","sessionId":"s","x":"findable"}`+"\n", line("user", "u2", "u1", "two"))
	dir := filepath.Join(b.home, ".claude", "projects", "-nowhere-project")
	if err := os.WriteFile(filepath.Join(dir, "t.jsonl"), []byte(line("user", "v1", "null", "other")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.jsonl")); err != nil {
		t.Skip(err)
	}
	sums, err := b.feed.All(t.Context(), hosts.Filter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := sums[0]
	if got.Sessions != 2 || got.New != 6 || got.Hidden != 3 || len(got.Failures) != 1 || !strings.HasSuffix(got.Failures[0].Path, "link.jsonl") {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]int{"(damaged)": 2, "from-the-future": 1}, got.Unknown); diff != "" {
		t.Error(diff)
	}
	again, err := b.feed.All(t.Context(), hosts.Filter{}, nil)
	if err != nil || again[0].Unchanged != 2 || again[0].Records != 0 {
		t.Errorf("%+v %v", again[0], err)
	}
}

// Whatever is in the place of a transcript is stored, or named: every record that is counted is
// new or known.
func TestNothingVanishes(t *testing.T) {
	utf16le := func(text string) string {
		var wide []byte
		for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
			wide = binary.LittleEndian.AppendUint16(wide, unit)
		}
		return string(wide)
	}
	said := `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}` + "\n"
	const codex = ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-00000000-0000-4000-8000-000000000001.jsonl"
	pi := `{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/p"}` + "\n" +
		`{"type":"message","id":"b","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"one"}}` + "\n"
	for name, c := range map[string]struct {
		path, content string
		view          []string
		failures      int
	}{
		"Claude Code, in UTF-16": {".claude/projects/p/s.jsonl", utf16le(line("user", "u1", "null", "one")), []string{"one"}, 0},
		"Codex, in UTF-16":       {codex, utf16le(said), []string{"one"}, 0},
		"pi, in UTF-16":          {".pi/agent/sessions/--p--/2026_a.jsonl", utf16le(pi), []string{"one"}, 0},
		"no text at all":         {".claude/projects/p/s.jsonl", "\x01\x02\n\x03\n", nil, 0},
		"a session begins":       {".claude/projects/p/s.jsonl", `{"type":"mode","sessionId":"s"}` + "\n", nil, 0},
		"a folder":               {".claude/projects/p/s.jsonl/x", "", nil, 1},
		"a folder of Codex":      {codex + "/x", "", nil, 1},
		"a folder of pi":         {".pi/agent/sessions/--p--/2026_a.jsonl/x", "", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.now = time.Now()
			path := filepath.Join(b.home, c.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			sums, err := b.feed.All(t.Context(), hosts.Filter{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			failures := 0
			for _, s := range sums {
				failures += len(s.Failures)
				if s.Records != s.New+s.Known {
					t.Errorf("%+v", s)
				}
				for _, id := range s.Changed {
					b.want(id, c.view...)
				}
				if c.view != nil && s.Sessions == 1 && len(s.Changed) != 1 {
					t.Errorf("%+v", s)
				}
			}
			if failures != c.failures {
				t.Errorf("%d failures, want %d", failures, c.failures)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	b := newBed(t)
	b.claude("old", line("user", "u1", "null", "one"))
	since := b.now.Add(time.Second)
	b.claude("new", line("user", "u1", "null", "one"))
	other := strings.ReplaceAll(line("user", "u1", "null", "one"), "/nowhere/project", "/nowhere/else")
	b.claude("else", other)
	for name, c := range map[string]struct {
		filter hosts.Filter
		want   int
	}{
		"all":     {hosts.Filter{}, 3},
		"since":   {hosts.Filter{Since: since}, 2},
		"project": {hosts.Filter{Project: &store.Project{Root: "/nowhere/else"}}, 1},
		"host":    {hosts.Filter{Hosts: []string{"codex"}}, 0},
		"path":    {hosts.Filter{Path: filepath.Join(b.home, ".claude", "projects", "-nowhere-project", "old.jsonl")}, 1},
	} {
		c.filter.DryRun = true
		sums, err := b.feed.All(t.Context(), c.filter, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sums[0].Sessions; got != c.want || (sums[0].Bytes > 0) != (c.want > 0) {
			t.Errorf("%s: %+v", name, sums[0])
		}
	}
	if convs, err := b.db.Conversations(t.Context(), store.ConversationQuery{}); err != nil || len(convs) != 0 {
		t.Errorf("a dry run stored %v %v", convs, err)
	}
	recent, err := b.feed.Recent(t.Context(), hosts.Filter{})
	if err != nil || len(recent) != 3 || recent[0].Session != "else" || recent[2].Session != "old" {
		t.Errorf("%v %v", recent, err)
	}
	if recent, err := b.feed.Recent(t.Context(), hosts.Filter{Hosts: []string{"codex"}}); err != nil || len(recent) != 0 {
		t.Errorf("of another host: %v %v", recent, err)
	}
	if _, err := b.feed.All(t.Context(), hosts.Filter{Hosts: []string{"telepathy"}}, nil); err == nil {
		t.Error("a host that is not known is no error")
	}
}

// A prompt that the user typed while the agent worked is one message, however the file grew
// between two readings, and also if all of it is read again.
func TestPromptTypedAheadIsStoredOnce(t *testing.T) {
	b := newBed(t)
	operation := func(op, more string) string {
		return fmt.Sprintf(`{"type":"queue-operation","operation":%q,"timestamp":"2026-01-01T00:00:00Z","sessionId":"s"%s}`+"\n", op, more)
	}
	lines := []string{
		operation("enqueue", `,"content":"one"`), operation("dequeue", ""), line("user", "u1", "null", "one"),
		line("assistant", "u2", "u1", "two"), operation("enqueue", `,"content":"please don't amend commits"`),
		line("assistant", "u3", "u2", "three"), operation("remove", ""), line("assistant", "u4", "u3", "four"),
	}
	var r hosts.Report
	for n := range lines {
		r = b.catchUp(b.claude("s", lines[:n+1]...), hosts.Limits{})
	}
	want := []string{"one", "two", "three", "please don't amend commits", "four"}
	b.want(r.Conversation, want...)
	again := b.catchUp(b.claude("s", append([]string{"\n"}, lines...)...), hosts.Limits{})
	if again.New != 0 || again.Known == 0 {
		t.Errorf("%+v", again)
	}
	b.want(r.Conversation, want...)
	other := newBed(t)
	r = other.catchUp(other.claude("s", lines...), hosts.Limits{})
	other.want(r.Conversation, want...)
}
