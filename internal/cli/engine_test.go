package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// engineProcess is the real command.
type engineProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startEngine(t *testing.T, home string) *engineProcess {
	t.Helper()
	return startProgram(t, home, "lcm")
}

func startProgram(t *testing.T, home, name string) *engineProcess {
	t.Helper()
	program, err := exec.LookPath(name) // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	e := &engineProcess{t: t, cmd: exec.Command(program, "--db", filepath.Join(home, "lcm.db"), "engine")}
	e.cmd.Dir, e.cmd.Env = home, append(os.Environ(), "HOME="+home, "LCM_BUSY_TIMEOUT_MS=2000")
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.out = bufio.NewReader(out)
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.cmd.Process.Kill(); _ = e.cmd.Wait() }) // it may have ended
	return e
}

// ask writes a line and returns the next answer.
func (e *engineProcess) ask(line string) (answer map[string]any) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
	text, err := e.out.ReadBytes('\n')
	if err != nil {
		e.t.Fatalf("%s: %v", line, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		e.t.Fatalf("%s: %v", text, err)
	}
	return answer
}

const sayHello = `{"id":0,"verb":"hello","protocols":[1],"host":"loop","dir":"."}`

// TestEnginePage plays the example of docs/ENGINE.md.
func TestEnginePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "ENGINE.md"))
	if err != nil {
		t.Fatal(err)
	}
	e := startEngine(t, t.TempDir())
	var answer map[string]any
	played := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			answer = e.ask(request)
		} else if text, ok := strings.CutPrefix(line, "← "); ok {
			var want map[string]any
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if played++; !matches(want, answer) {
				t.Errorf("got %v, the page says %s", answer, text)
			}
		}
	}
	if err := e.cmd.Wait(); err != nil || played < 10 {
		t.Errorf("%d answers, then %v", played, err)
	}
}

// matches compares an answer with that of the page, where "…" stands for any value.
func matches(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok || len(other) != len(want) {
			return false
		}
		for k, v := range want {
			if one, ok := other[k]; !ok || !matches(v, one) {
				return false
			}
		}
		return true
	case []any:
		if list, ok := got.([]any); ok && len(want) == 1 && want[0] == "…" {
			return len(list) > 0
		}
	case string:
		if want == "…" {
			return got != nil
		}
	}
	return reflect.DeepEqual(want, got)
}

// ingestLine is a request that stores a message.
func ingestLine(n int) string {
	return fmt.Sprintf(`{"id":%d,"verb":"ingest","session":"s","form":"openai","messages":[{"id":"m%d","message":{"role":"user","content":"part %d"}}]}`, n, n, n)
}

// TestEngineKilled: an engine is killed in the middle of its work again and again. What it has
// acknowledged is in the record, once.
func TestEngineKilled(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	n, acknowledged := 0, 0
	for round := range 10 {
		e := startEngine(t, home)
		e.ask(sayHello)
		for range 3 {
			n = acknowledged
			if answer := e.ask(ingestLine(n)); answer["ok"] == nil {
				t.Fatalf("%v", answer)
			}
			acknowledged++
		}
		// The last one is not waited for; the next process gets it again.
		if _, err := io.WriteString(e.in, ingestLine(acknowledged)+"\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round) * time.Millisecond) // it dies at different moments
		if err := e.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = e.cmd.Wait() // it was killed
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(home, "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found := map[string]int{}
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		found[m.Body.PlainText()]++
	}
	for i := range acknowledged {
		if text := fmt.Sprint("part ", i); found[text] != 1 {
			t.Errorf("%q is stored %d times", text, found[text])
		}
	}
	if len(found) > acknowledged+1 {
		t.Errorf("%d messages, %d were acknowledged", len(found), acknowledged)
	}
}

// TestEngineWhileLocked: while another process has the database locked, assemble answers in
// time, ingest fails, and both work again after that.
func TestEngineWhileLocked(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	e := startEngine(t, home)
	e.ask(sayHello)
	e.ask(ingestLine(1))
	lock, err := sqlite3.Open(filepath.Join(home, "lcm.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := lock.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	const assemble = `{"id":7,"verb":"assemble","session":"s","form":"openai","budget":9000,"messages":[{"role":"user","content":"part 1"}]}`
	if answer := e.ask(assemble); answer["ok"] == nil || time.Since(began) > time.Second {
		t.Errorf("%v after %v", answer, time.Since(began))
	}
	if answer := e.ask(ingestLine(2)); answer["error"] == nil {
		t.Errorf("%v", answer)
	}
	if err := lock.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if answer := e.ask(ingestLine(2)); answer["ok"] == nil {
		t.Errorf("%v", answer)
	}
}
