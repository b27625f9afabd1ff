package all_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/hosttest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// home returns a home directory with the fixtures of a host.
func home(t *testing.T, host string) string {
	t.Helper()
	dir := filepath.Join("..", host, "testdata", "home")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	sql, err := os.ReadFile(filepath.Join("..", host, "testdata", "sessions.sql"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	path := filepath.Join(dir, ".local", "share", host, host+".db")
	if host == "openclaw" {
		path = filepath.Join(dir, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(string(sql)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func transcripts(t *testing.T, h hosts.Host, home string) (ts []hosts.Transcript) {
	t.Helper()
	for tr, err := range h.Transcripts(t.Context(), h.Find(hosts.Machine{Home: home})) {
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, tr)
	}
	return ts
}

// The transcripts of the real programs are read completely, and have no unknown records.
func TestFixturesAreRead(t *testing.T) {
	for _, h := range all.Hosts() {
		found := transcripts(t, h, home(t, h.About().Name))
		if len(found) < 5 {
			t.Errorf("%s: %d transcripts", h.About().Name, len(found))
		}
		for _, tr := range found {
			records := hosttest.Read(t, h, tr)
			for _, rec := range records {
				if !rec.Known {
					t.Errorf("%s: %s is not known", tr.Session, rec.Type)
				}
			}
			if strings.HasSuffix(tr.Path, ".jsonl") {
				content, err := os.ReadFile(tr.Path)
				if err != nil {
					t.Fatal(err)
				}
				hosttest.Lines(t, records, content)
			}
		}
	}
}

// Every imported record is returned byte for byte, and the view equals the golden file.
func TestFixturesAreImported(t *testing.T) {
	for _, h := range all.Hosts() {
		t.Run(h.About().Name, func(t *testing.T) {
			home := home(t, h.About().Name)
			db := importHome(t, home)
			for _, tr := range transcripts(t, h, home) {
				roundTrip(t, db, h, tr)
			}
			golden(t, filepath.Join("..", h.About().Name, "testdata", "imported.txt"), describe(t, db))
		})
	}
}

func importHome(t *testing.T, home string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	feed, err := hosts.New(engine, all.Hosts(), hosts.Machine{Home: home}, hosts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sums, err := feed.All(t.Context(), hosts.Filter{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sums {
		for _, f := range s.Failures {
			t.Errorf("%s: %v", f.Path, f.Err)
		}
		if s.New != s.Records {
			t.Errorf("%s: %d of %d records are new", s.Host, s.New, s.Records)
		}
	}
	return db
}

func roundTrip(t *testing.T, db *sqlite.DB, h hosts.Host, tr hosts.Transcript) {
	t.Helper()
	convs, err := db.Conversations(t.Context(), store.ConversationQuery{Key: tr.Key()})
	if err != nil || len(convs) != 1 {
		t.Fatal(convs, err)
	}
	var stored [][]byte
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: convs[0].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		record, err := db.Record(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, record)
	}
	var read [][]byte
	for rec, err := range h.Read(t.Context(), tr, hosts.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, rec.Raw.Bytes)
	}
	if !slices.EqualFunc(read, stored, bytes.Equal) {
		t.Errorf("%s: %d records are not what comes back of %d", tr.Session, len(stored), len(read))
	}
	if v, err := db.Verify(t.Context(), convs[0].ID); err != nil || len(v.Faults) > 0 {
		t.Errorf("%s: %v %v", tr.Session, v.Faults, err)
	}
}

var flagNames = []struct {
	flag store.Flag
	name string
}{{store.FlagEcho, "echo"}, {store.FlagHostSummary, "host summary"}, {store.FlagSynthetic, "synthetic"}, {store.FlagDuplicate, "duplicate"}, {store.FlagHidden, "hidden"}}

// describe lists the stored messages, one line each, with a dot before those in the view.
func describe(t *testing.T, db *sqlite.DB) string {
	t.Helper()
	convs, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	keys := map[store.ConversationID]string{}
	for _, c := range convs {
		keys[c.ID] = c.Key
	}
	slices.SortFunc(convs, func(a, b store.Conversation) int { return strings.Compare(a.Key, b.Key) })
	var b strings.Builder
	for _, c := range convs {
		fmt.Fprintf(&b, "%s\n  title %q, project %s, parent %q\n", c.Key, c.Title, c.Project.Root, keys[c.Parent])
		view, err := db.View(t.Context(), c.ID, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		shown := map[store.MessageID]bool{}
		for _, it := range view.Items {
			shown[it.Message] = true
		}
		for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			mark, flags := " ", ""
			if shown[m.ID] {
				mark = "•"
			}
			for _, f := range flagNames {
				if m.Flags&f.flag != 0 {
					flags += " [" + f.name + "]"
				}
			}
			fmt.Fprintf(&b, "  %s %s%s %.90q\n", mark, m.Body.Role, flags, m.Body.Render())
		}
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// Providers accept the context of an imported session: every call is answered before
// anything else is said.
func TestImportedSessionsCanBeGoneOnWith(t *testing.T) {
	for _, h := range all.Hosts() {
		db := importHome(t, home(t, h.About().Name))
		engine, err := lcm.New(db, lcm.WithoutBackground())
		if err != nil {
			t.Fatal(err)
		}
		convs, err := db.Conversations(t.Context(), store.ConversationQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range convs {
			view, err := engine.Session(c.Key).Context(t.Context(), 100_000)
			if err != nil {
				t.Fatal(err)
			}
			open := map[string]bool{}
			for _, m := range view.Messages {
				for _, r := range m.ToolResults() {
					if m.Role == llms.RoleAssistant || !open[r.CallID] {
						t.Errorf("%s: %q answers nothing that was just asked", c.Key, r.CallID)
					}
					delete(open, r.CallID)
				}
				if m.Role == llms.RoleUser && len(open) > 0 {
					t.Errorf("%s: %v are not answered", c.Key, open)
				}
				for _, call := range m.ToolCalls() {
					open[call.ID] = true
				}
			}
			for _, f := range []llms.Format{llms.FormatAnthropic, llms.FormatOpenAI} {
				if _, err := wire.EncodeAll(f, view.Messages); err != nil {
					t.Errorf("%s as %s: %v", c.Key, f, err)
				}
			}
		}
	}
}

// Every host has a page, and a row in the table of hosts.
func TestHostsHavePages(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs", "hosts")
	table, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all.Hosts() {
		page := h.About().Name + ".md"
		if row := "| " + h.About().Title + " | [" + page + "](" + page + ") |"; !strings.Contains(string(table), row) {
			t.Errorf("docs/hosts/README.md has no row %q", row)
		}
		if _, err := os.Stat(filepath.Join(docs, page)); err != nil {
			t.Error(err)
		}
	}
}
