//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	dbcheck "github.com/lossless-context/lcm/internal/record/sqlite/check"
)

// A program that is asked to end does so within two seconds, in the middle of
// whatever it does; what it acknowledged is there and sound, and repeating the
// command goes on from there.
func TestEndsWhenAsked(t *testing.T) {
	dir := t.TempDir()
	source, database := filepath.Join(dir, "long.jsonl"), filepath.Join(dir, "lcm.db")
	var b bytes.Buffer
	const messages = 10_000
	for i := range messages {
		fmt.Fprintf(&b, `{"id":"m%d","role":"user","content":"message %d of a long transcript that takes a while to be stored and indexed"}`+"\n", i, i)
	}
	if err := os.WriteFile(source, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	run := func(s os.Signal) *exec.Cmd {
		c := exec.Command(program, "--db", database, "import", source)
		// This test is not about summaries, so it does not make any.
		c.Env = append(os.Environ(), "HOME="+dir, "LCM_BACKGROUND_COMPACTION=off")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if s == nil {
			return c
		}
		waitForMessages(t, database)
		asked := time.Now()
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		err := c.Wait()
		if took := time.Since(asked); took > 20*time.Second {
			t.Errorf("it took %s to end after %s", took, s)
		}
		if err == nil {
			t.Log("it was done before it was asked")
		} else if want := 128 + int(s.(syscall.Signal)); c.ProcessState.ExitCode() != want && !endedBy(c, s) {
			t.Errorf("after %s it exits with %d, not %d", s, c.ProcessState.ExitCode(), want)
		}
		return c
	}
	for i, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		// The second run finds messages at once, and may be asked before it
		// listens.
		if c := run(s); i == 0 && endedBy(c, s) {
			t.Errorf("%s killed it", s)
		}
		proof, err := dbcheck.ProveFile(t.Context(), database)
		if err != nil || len(proof.Faults) > 0 || proof.Messages == 0 {
			t.Fatalf("after %s there is %+v, %v", s, proof, err)
		}
	}
	if err := run(nil).Wait(); err != nil {
		t.Fatal(err)
	}
	if proof, err := dbcheck.ProveFile(t.Context(), database); err != nil || len(proof.Faults) > 0 || proof.Messages != messages {
		t.Errorf("in the end there is %+v, %v", proof, err)
	}
}

// endedBy reports whether a signal killed a program that did not handle it.
func endedBy(c *exec.Cmd, s os.Signal) bool {
	w, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == s
}

// waitForMessages waits until an import has stored something.
func waitForMessages(t *testing.T, database string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if db, err := sqlite.Open(t.Context(), database, sqlite.Options{ReadOnly: true}); err == nil {
			st, err := db.Stats(t.Context())
			db.Close()
			if err == nil && st.Messages > 0 {
				return
			}
		}
	}
	t.Fatal("the import does not begin")
}

// What waits for standard input ends as well, though nothing ever comes.
func TestEndsWhileItWaitsForInput(t *testing.T) {
	program, err := exec.LookPath("lcm")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		args   []string
		signal syscall.Signal
	}{
		{[]string{"import", "-"}, syscall.SIGTERM},
		{[]string{"import", "-"}, syscall.SIGKILL},
		{[]string{"hook", "claude"}, syscall.SIGTERM},
		{[]string{"map", "-", "--prompt", "x", "--model", "m"}, syscall.SIGTERM},
	} {
		args, signal := way.args, way.signal
		dir := t.TempDir()
		c := exec.Command(program, args...)
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "LCM_DATABASE_PATH="+filepath.Join(dir, "lcm.db"),
			"OPENAI_API_KEY=none", "OPENAI_BASE_URL=http://127.0.0.1:1", "TMPDIR="+dir)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// It has begun to read when a write that the pipe cannot hold returns.
		if _, err := in.Write(bytes.Repeat([]byte(" "), 1<<17)); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = c.Process.Kill()
			t.Errorf("%v waits for its input for ever", args)
			<-ended
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "lcm-import-*")); len(left) > 0 {
			t.Errorf("%v left %v", args, left)
		}
	}
}

// SIGTERM ends a command that hears nothing of it: it writes to a socket that nobody reads
// to the end.
func TestEndsWhenItHangs(t *testing.T) {
	program, err := exec.LookPath("lcm")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	if err := syscall.SetsockoptInt(pair[1], syscall.SOL_SOCKET, syscall.SO_SNDBUF, 1); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "completion", "bash") // more than the socket holds
	c.Env, c.Stdout = append(os.Environ(), "HOME="+t.TempDir()), theirs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := ours.Read(make([]byte, 1)); err != nil { // it has begun to write
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		_ = c.Process.Kill()
		t.Fatal("it hangs")
	}
	if code := c.ProcessState.ExitCode(); code != exitTerminated {
		t.Errorf("it ends with %d, not %d", code, exitTerminated)
	}
}
