package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/imports"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// writeLong writes a transcript of Claude Code: long FILE SESSION RECORDS.
func writeLong() {
	f, err := os.Create(os.Args[1])
	check(err)
	_, err = imports.WriteLong(f, os.Args[2], argument(3), 1)
	check(err)
	check(f.Close())
}

// patience is how long a script waits for a process in the background.
const patience = time.Minute

// until runs a command again and again until its output matches a pattern.
func until(pattern string, command ...string) error {
	wanted := regexp.MustCompile(pattern)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err == nil && wanted.Match(out) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%q does not print %s: %v\n%s", command, pattern, err, out)
		}
	}
}

// await waits until a command prints something: await PATTERN COMMAND ARGUMENT….
func await() { check(until(os.Args[1], os.Args[2:]...)) }

// killed starts a command and kills it, as kill -9 does, once another prints
// something: killed PATTERN LOOK COMMAND ARGUMENT…, where LOOK is one of lcm's
// commands. It fails if the command ends before that.
func killed() {
	c := exec.Command(os.Args[3], os.Args[4:]...)
	check(c.Start())
	check(until(os.Args[1], strings.Fields("lcm "+os.Args[2]+" --json")...))
	check(c.Process.Kill())
	if err := c.Wait(); err == nil {
		check(fmt.Errorf("%q ended before it was killed", os.Args[3:]))
	}
}

// TestBackgroundSpendsNothingUnlessAllowed: a model that is configured for
// summaries is not asked in the background unless compaction.background says
// so.
func TestBackgroundSpendsNothingUnlessAllowed(t *testing.T) {
	for how, wanted := range map[string]bool{config.BackgroundExtractive: false, config.BackgroundModel: true} {
		t.Run(how, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				http.Error(w, "no", http.StatusBadRequest)
			}))
			defer server.Close()
			rec := openTestRecord(t, map[string]string{
				"compaction.background": how, "summary.model": "scripted", "summary.provider": "openai",
				"models.openai_base_url": server.URL, "models.openai_api_key": "k", "context.token_budget": "4000",
			})
			if err := rec.engine.Session("s").Append(t.Context(), sample.Messages()[:120]...); err != nil {
				t.Fatal(err)
			}
			engine, err := rec.foldingEngine()
			if err != nil {
				t.Fatal(err)
			}
			f, err := engine.FoldDue(t.Context(), lcm.FoldOptions{})
			if err != nil || f.Folds == 0 {
				t.Fatalf("%+v, %v", f, err)
			}
			if got := asked.Load() > 0; got != wanted {
				t.Errorf("the model was asked %d times", asked.Load())
			}
		})
	}
}

// TestMCPFolds: a server that has read long transcripts starts the process that
// folds them, not again within a minute, and never where that is turned off.
func TestMCPFolds(t *testing.T) {
	for how, wanted := range map[string]int{config.BackgroundExtractive: 1, config.BackgroundOff: 0} {
		t.Run(how, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("CLAUDE_CONFIG_DIR", "")
			dir := filepath.Join(home, ".claude", "projects", "-work")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			const session = "aaaaaaaa-0000-4000-8000-000000000001"
			file, err := os.Create(filepath.Join(dir, session+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := imports.WriteLong(file, session, 100, 1); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			rec := openTestRecord(t, map[string]string{"compaction.background": how, "context.token_budget": "8000"})
			feed, err := newTranscripts(rec, rec.log)
			if err != nil {
				t.Fatal(err)
			}
			var started []string
			feed.fold.start = func(c *exec.Cmd) error { started = append(started, strings.Join(c.Args[1:], " ")); return nil }
			for range 2 {
				if err := feed.All(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := feed.fold.ifDue(t.Context(), []store.ConversationID{1}); err != nil {
				t.Fatal(err)
			}
			if len(started) != wanted || wanted == 1 && started[0] != "hook mcp --continue --db "+rec.cfg.Storage.DatabasePath+" --fold-all" {
				t.Errorf("%q", started)
			}
		})
	}
}

// openTestRecord opens an empty database with the given settings.
func openTestRecord(t *testing.T, values map[string]string) *openRecord {
	t.Helper()
	values["storage.database_path"] = filepath.Join(t.TempDir(), "lcm.db")
	cfg, err := config.Load(config.Options{Flags: values, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), cfg.Storage.DatabasePath, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := newOpenRecord(cfg, db, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rec.close(context.WithoutCancel(t.Context())) })
	return rec
}

// The process in the background gets the password of the database over a pipe.
func TestPasswordForTheBackground(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const url = "postgres://lcm@db.example/lcm"
	cfg, err := (&program{database: "postgres://lcm:hunter2secret@db.example/lcm"}).settings()
	if err != nil || cfg.Storage.DatabasePath != url || cfg.DatabasePassword != "hunter2secret" {
		t.Fatalf("%+v, %v", cfg, err)
	}
	err = startRest(func(c *exec.Cmd) error {
		if all := fmt.Sprint(c.Args, c.Env); strings.Contains(all, "hunter2") {
			t.Errorf("the arguments or the environment have it: %s", all)
		}
		p := &program{in: c.Stdin}
		if newHookCommand(p, c.Args[2:]).goOn {
			got, err := p.settings()
			if err != nil || got.Storage.DatabasePath != url || got.DatabasePassword != "hunter2secret" {
				t.Errorf("%+v, %v", got, err)
			}
			return err
		}
		return errors.New("it does not go on")
	}, "claude", cfg, "--fold-all")
	if err != nil {
		t.Error(err)
	}
	if got := os.Getenv("PGPASSWORD"); got != "" {
		t.Errorf("PGPASSWORD is %q", got)
	}
}

// A URL without a password, as hosts have it in their settings, takes the one of the
// same URL in the environment.
func TestPasswordOfTheSameURL(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LCM_DATABASE_PATH", "postgres://lcm:hunter2secret@db.example/lcm")
	for url, want := range map[string]string{"": "hunter2secret", "postgres://lcm@db.example/lcm": "hunter2secret", "postgres://lcm@other.example/lcm": ""} {
		cfg, err := (&program{database: url}).settings()
		if err != nil || cfg.DatabasePassword != want {
			t.Errorf("%q: %q, %v", url, cfg.DatabasePassword, err)
		}
	}
}
