package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestImportFound: an import ends with the failures of the last 90 days that had been solved before they
// came, and says each once.
func TestImportFound(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	session := func(id string, at time.Time, commands ...string) {
		var b strings.Builder
		for i, command := range commands {
			stamp := at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
			failed := strings.Contains(command, "--stat")
			output := map[bool]string{true: `Exit code 1\nunknown flag: --stat`, false: "done"}[failed]
			fmt.Fprintf(&b, `{"type":"assistant","uuid":"%[1]s-%[2]d","sessionId":%[1]q,"cwd":"/work","timestamp":%[3]q,"message":{"role":"assistant","content":[{"type":"tool_use","id":"%[1]s-t%[2]d","name":"Bash","input":{"command":%[4]q}}]}}
{"type":"user","uuid":"%[1]s-r%[2]d","sessionId":%[1]q,"cwd":"/work","timestamp":%[3]q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%[1]s-t%[2]d","is_error":%[5]v,"content":"%[6]s"}]}}
`, id, i, stamp, command, failed, output)
		}
		dir := filepath.Join(home, ".claude", "projects", "-work")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func() string {
		c := exec.Command(program, "--db", filepath.Join(home, "lcm.db"), "import", "claude")
		c.Dir, c.Env = home, append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR=", "LCM_BACKGROUND_COMPACTION=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const long = 100 * 24 * time.Hour
	session("00000000-0000-4000-8000-000000000001", now.Add(-2*long), "gh pr diff 88 --stat", "gh pr diff 88 --name-only")
	session("00000000-0000-4000-8000-000000000002", now.Add(-long), "gh pr diff 90 --stat", "gh pr diff 90 --name-only")
	if got := says(); strings.Contains(got, "solved") {
		t.Errorf("what is older than 90 days is told: %s", got)
	}
	session("00000000-0000-4000-8000-000000000003", now.Add(-time.Hour), "gh pr diff 104 --stat", "gh pr diff 105 --stat", "ls")
	const want = "note: 1 failure of the last 90 days had been solved before; an agent that lcm is connected to is told then\n" +
		"  msg_10  solved in msg_7: \"gh pr diff 90 --stat\" failed the same way, and \"gh pr diff 90 --name-only\" then worked\n"
	if got := says(); !strings.Contains(got, want) {
		t.Errorf("%s\ndoes not have\n%s", got, want)
	}
	if got := says(); strings.Contains(got, "solved") {
		t.Errorf("it is told again: %s", got)
	}
}
