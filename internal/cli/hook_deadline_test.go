//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A hook ends in time, and well, also where the file system never answers: the
// configuration is a pipe that nobody writes to.
func TestHookEndsWhateverTheFileSystemDoes(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	if err := syscall.Mkfifo(config, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f, err := os.OpenFile(config, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close() // the reader that is left behind ends
		}
	})
	t.Setenv("HOME", dir)
	t.Setenv("LCM_CONFIG", config)
	var out, errs bytes.Buffer
	h := newHookCommand(newProgram(strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"x","cwd":"."}`), &out, &errs), []string{"claude"})
	h.limit = 50 * time.Millisecond
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.run(t.Context())
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute): // it would wait for the file for ever
		t.Fatal("the hook hangs")
	}
	if out.Len()+errs.Len() > 0 {
		t.Errorf("it prints %q, %q", out.String(), errs.String())
	}
}
