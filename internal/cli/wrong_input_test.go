package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was typed wrongly is named, with what to type instead.
func TestWrongInput(t *testing.T) {
	dir, command := commanded(t)
	t.Chdir(dir)
	if code, _, errs := command("import", "-", "--session", "s"); code != exitOK {
		t.Fatal(errs)
	}
	session := filepath.Join(dir, ".claude", "projects", "-p", "aaaaaaaa-0000-4000-8000-000000000000.jsonl")
	if err := os.MkdirAll(filepath.Dir(session), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(session, []byte(`{"type":"user","uuid":"1","sessionId":"a","message":{"role":"user","content":"hello"},"timestamp":"2026-01-01T00:00:00Z"}`+"\nnot JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"ask", "zither"}, exitFailure, nil},
		{[]string{"ask", "x", "-c", "999"}, exitNotFound, []string{"there is no conversation 999", "`lcm conversations --all` lists them"}},
		{[]string{"grep", "x", "-c", "999"}, exitNotFound, []string{"there is no conversation 999", "`lcm conversations --all` lists them"}},
		{[]string{"undelete", "999"}, exitNotFound, []string{"there is no conversation 999", "`lcm undelete` lists"}},
		{[]string{"show", "999"}, exitNotFound, []string{"there is no conversation 999", "`lcm conversations --all` lists them"}},
		{[]string{"describe", "5"}, exitUsage, []string{"5 is no id of a message, summary or file", "`lcm show 5`"}},
		{[]string{"why", "nosuch.go"}, exitNotFound, []string{"nosuch.go: file does not exist"}},
		{[]string{"why", "lcm.db:0"}, exitUsage, []string{"lcm.db:0", "counted from 1"}},
		{[]string{"show", "--html", filepath.Join(dir, "none", "a")}, exitNotFound, []string{"there is no folder " + filepath.Join(dir, "none")}},
		{[]string{"setup", "claude", "--dry-run"}, exitOK, nil},
		{[]string{""}, exitUsage, []string{"the name of the command is empty", "`lcm --help` lists the commands"}},
		{[]string{"map", "/no/such"}, exitNotFound, []string{"/no/such", "check the path"}},
		{[]string{"map", "/no/such", "--prompt", "x"}, exitNotFound, []string{"/no/such", "check the path"}},
		{[]string{"compact", "--budget", "0"}, exitUsage, []string{"a budget of 0 tokens is too small", "use at least"}},
		{[]string{"context", "--budget", "0"}, exitUsage, []string{"a budget of 0 tokens is too small", "use at least"}},
		{[]string{"import", "claude"}, exitOK, []string{"1 record that is no JSON, or was cut off"}},
	} {
		code, _, errs := command(c.args...)
		if code != c.code {
			t.Errorf("lcm %q ends with %d, not %d: %s", c.args, code, c.code, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("lcm %q does not say %q: %s", c.args, want, errs)
			}
		}
		if strings.Contains(errs, "(damaged)") {
			t.Errorf("lcm %q: %s", c.args, errs)
		}
	}
}
