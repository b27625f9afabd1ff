package hosts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
)

// TestLocate: an event leads to the transcripts of its host and session, and
// to no other file.
func TestLocate(t *testing.T) {
	b := newBed(t)
	inside := b.claude("s", line("user", "u1", "null", "hello")).Path
	elsewhere := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(elsewhere, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const there = `{"type":"user","uuid":"u2","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"elsewhere"}}` + "\n"
	link := filepath.Join(filepath.Dir(inside), "link.jsonl")
	if err := os.Symlink(write("notes.jsonl", there), link); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		path, session string
		want          string // the session that is found, or
		err           string
	}{
		"its own":                      {inside, "s", "s", ""},
		"one that goes on with it":     {inside, "another", "s", ""},
		"by its session":               {"", "s", "s", ""},
		"by a session that is not":     {"", "x", "", "no transcript"},
		"not written yet":              {filepath.Join(filepath.Dir(inside), "x.jsonl"), "x", "", "no transcript"},
		"a home that lcm does not see": {write("projects/-p/moved.jsonl", there), "moved", "moved", ""},
		"its sub-agent":                {write("projects/-p/moved/subagents/agent-a.jsonl", there), "moved", "moved/agent-a", ""},
		"somebody else's":              {write("theirs.jsonl", there), "s", "", "out of"},
		"without a session":            {write("theirs.jsonl", there), "", "", "out of"},
		"upwards":                      {filepath.Join(filepath.Dir(inside), "..", "..", "..", "..", filepath.Base(elsewhere), "theirs.jsonl"), "s", "", "out of"},
		"through a link":               {link, "s", "", "out of"},
		"no transcript at all":         {write("secrets.txt", "hush"), "s", "", "no transcript"},
	} {
		got, err := b.feed.Locate(t.Context(), "claude", c.path, c.session)
		if c.err == "" && (err != nil || got.Session != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %q, %v", name, got.Session, err)
		}
	}
	if _, err := b.feed.Locate(t.Context(), "hal", inside, "s"); err == nil {
		t.Error("a host that nobody knows has a transcript")
	}
	if got, err := b.feed.ByPath(t.Context(), filepath.Join(elsewhere, "theirs.jsonl")); err != nil || got.Session != "theirs" {
		t.Errorf("what a person names: %q, %v", got.Session, err)
	}
	if _, err := b.feed.ByPath(t.Context(), filepath.Join(elsewhere, "secrets.txt")); !errors.Is(err, hosts.ErrNoTranscript) {
		t.Error(err)
	}
}
