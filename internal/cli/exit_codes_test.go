package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exitCodes is the table in docs/CLI.md.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done; `lcm hook` always, because a host takes a code for an order"},
	{exitFailure, "failed; `lcm grep`, `ask` and `why`: nothing was found"},
	{exitUsage, "wrong usage: an unknown command, flag, host or value; `lcm grep`, `ask` and `why`: also what is 1 elsewhere"},
	{exitNotFound, "not found: a file, a database, a conversation, an id, a program or an agent that is not there"},
	{exitConfig, "wrong settings, or one is missing"},
	{exitDatabase, "the database cannot be used"},
	{exitFaults, "damage was found, shown or left out"},
	{exitInterrupted, "interrupted (Ctrl-C)"},
	{exitTerminated, "terminated (SIGTERM)"},
}

func writeExitCodes(b *strings.Builder) {
	b.WriteString("\n## Exit codes\n\n`lcm run -- PROGRAM` ends with the code of the program.\n\n| code | meaning |\n|---|---|\n")
	for _, c := range exitCodes {
		fmt.Fprintf(b, "| %d | %s |\n", c.code, c.meaning)
	}
}

// readers are the commands that need a database that exists, with right arguments.
var readers = []string{
	"grep x", "ask x", "describe msg_1", "why x", "show", "conversations", "undelete", "forget --list", "verify --all", "context", "compact --all", "sync", "ui --no-open",
	"team token list", "team token revoke x", "team audit", "db status", "db backup", "db export F", "run --list",
}

// others are command lines of all other commands, with their codes.
var others = []struct {
	line string
	code int
}{
	{"import missing.jsonl", exitNotFound}, {"import telepathy", exitNotFound}, {"import", exitNotFound}, {"import --session x", exitUsage},
	{"db restore missing.db", exitNotFound}, {"db copy missing.db to.db", exitNotFound}, {"db backup missing/b.db", exitNotFound}, {"db export missing/e", exitNotFound},
	{"undelete x", exitNotFound}, {"describe nonsense", exitUsage}, {"describe msg_99", exitNotFound}, {"describe sum_0123456789abcdef", exitNotFound}, {"show 99", exitNotFound},
	{"describe msg_99", exitNotFound}, {"context 99", exitNotFound}, {"compact 99", exitNotFound}, {"verify 99", exitNotFound}, {"forget 99 --yes", exitNotFound},
	{"grep nothing-has-this", exitFailure}, {"ask nothing-has-this", exitFailure}, {"why lcm.db", exitFailure}, {"why nosuch.go", exitNotFound}, {"why nosuch.go:1", exitNotFound}, {"why lcm.db:0", exitUsage}, {"grep (", exitUsage}, {"team token revoke x", exitNotFound}, {"sync", exitConfig},
	{"map items", exitNotFound}, {"map lcm.db", exitUsage}, {"map lcm.db --prompt x", exitConfig},
	{"setup emacs", exitUsage}, {"setup --remove emacs", exitUsage}, {"setup claude --yes", exitNotFound}, {"setup --all", exitNotFound},
	{"run -- vim", exitUsage}, {"run -- missing/claude", exitNotFound}, {"run --listen x:y", exitUsage}, {"run", exitUsage},
	{"mcp --http x:y", exitUsage}, {"engine x", exitUsage}, {"team serve --http x:y", exitUsage}, {"team token add", exitUsage},
	{"config get nonsense", exitConfig}, {"config set nonsense 1", exitConfig},
	{"doctor", exitOK}, {"hook nonsense", exitOK}, {"hook --nonsense", exitOK}, {"statusline", exitUsage}, {"version", exitOK}, {"help", exitOK}, {"help nonsense", exitUsage}, {"nonsense", exitUsage},
	{"demo x", exitUsage}, {"completion bash", exitOK}, {"completion zsh", exitOK}, {"completion fish", exitOK}, {"completion powershell", exitOK},
	{"show --limit -1", exitUsage}, {"conversations --limit -1", exitUsage}, {"grep --limit -1 x", exitUsage},
	{"show --limit 0", exitOK}, {"conversations --limit 0", exitOK}, {"grep --limit 0 boathouse", exitOK},
}

// TestExitCodes holds every command to the table.
func TestExitCodes(t *testing.T) {
	dir, command := commanded(t)
	t.Chdir(dir)
	tried := map[string]bool{}
	check := func(want int, line string, more ...string) {
		t.Helper()
		args := append(strings.Fields(line), more...)
		for n := range min(3, len(args)) {
			tried["lcm "+strings.Join(args[:n+1], " ")] = true
		}
		if code, _, errs := command(args...); code != want {
			t.Errorf("lcm %s ends with %d, not %d: %s", strings.Join(args, " "), code, want, errs)
		}
	}
	for _, line := range readers {
		check(exitNotFound, line)
		if left, err := filepath.Glob("lcm.db*"); err != nil || len(left) > 0 {
			t.Fatalf("lcm %s leaves %q", line, left)
		}
	}
	if err := os.WriteFile("text.db", bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range readers {
		want := exitDatabase
		if strings.HasPrefix(line, "db backup") || strings.HasPrefix(line, "db export") {
			want = exitFaults // these take what can be read of it page by page, and that is nothing
		}
		check(want, line, "--db", "text.db")
	}
	check(exitOK, "import - --session s")
	for _, o := range others {
		check(o.code, o.line)
	}
	t.Setenv("LCM_TOKEN_BUDGET", "x")
	for _, line := range append(slices.Clone(readers), "doctor", "import", "map text.db --prompt x", "mcp", "engine", "config", "db restore lcm.db") {
		check(exitConfig, line)
	}
	t.Setenv("LCM_TOKEN_BUDGET", "")
	for path := range leaves(newRoot(newProgram(nil, &bytes.Buffer{}, &bytes.Buffer{}))) {
		if !tried[path] {
			t.Errorf("%s is not in the table", path)
		}
		if path != "lcm hook" && path != "lcm help" {
			check(exitUsage, strings.TrimPrefix(path, "lcm "), "--nonsense")
		}
	}
}
