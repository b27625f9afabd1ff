package cli

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
)

// A prompt that finds megabytes unindexed leaves them to a process in the
// background, and the prompt after that is answered. Every prompt used to begin
// to index them, and none came to an end.
func TestPromptsLeaveIndexingToTheBackground(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv(childGuard, "")
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "lcm.db")
	in, err := project.Of(dir)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true, DeferIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	messages := []llms.Message{
		llms.User("Which port does the zeppelin gateway use?"),
		llms.Assistant("The zeppelin gateway listens on port 8443, behind the proxy."),
	}
	for i := range 240 {
		var long strings.Builder
		for n := range 2000 {
			fmt.Fprintf(&long, "row%d_%d value ", i, n)
		}
		messages = append(messages, llms.User(long.String()))
	}
	if err := engine.Session("claude/earlier", lcm.WithProject(in), lcm.WithAgent("claude")).Append(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	indexed := func() int64 {
		st, err := search.ReadStats(t.Context(), db.File().DB())
		if err != nil {
			t.Fatal(err)
		}
		return st.Docs
	}
	ask := func(session string) (said string, left []string) {
		prompt := fmt.Sprintf(`{"hook_event_name":"UserPromptSubmit","session_id":%q,"cwd":%q,"prompt":"Which port did we use for the zeppelin gateway last time?"}`, session, dir)
		var out bytes.Buffer
		h := newHookCommand(newProgram(strings.NewReader(prompt), &out, io.Discard), []string{"claude", "--db", path})
		h.background = func(c *exec.Cmd) error { left = c.Args[2:]; return nil }
		h.run(t.Context())
		return out.String(), left
	}
	_, left := ask("first")
	if !slices.Contains(left, "--index") || indexed() != 0 {
		t.Fatalf("the first prompt left %q, and %d documents are indexed", left, indexed())
	}
	newHookCommand(newProgram(nil, io.Discard, io.Discard), left).run(t.Context())
	if indexed() != int64(len(messages)) {
		t.Fatalf("the background process indexed %d documents", indexed())
	}
	if said, left := ask("second"); !strings.Contains(said, "port 8443") || left != nil {
		t.Errorf("the second prompt left %q and is told %q", left, said)
	}
}
