package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// make audit fails where the list of vulnerabilities cannot be reached: nothing was checked.
func TestAuditFails(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		installs, checks string
		passes           bool
	}{
		"nothing was found":              {"0", "0", true},
		"a vulnerability":                {"0", "3", false},
		"the list cannot be reached":     {"0", "1", false},
		"the tool cannot be installed":   {"1", "0", false},
		"the tool ends in its own way":   {"0", "2", false},
		"the tool was stopped by a kill": {"0", "137", false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := filepath.Join(t.TempDir(), "go")
			// It installs a govulncheck, and lists no modules.
			script := "#!/bin/sh\n[ \"$1\" = install ] || exit 0\nprintf '#!/bin/sh\\nexit " + c.checks + "\\n' > \"$GOBIN/govulncheck\"\nchmod +x \"$GOBIN/govulncheck\"\nexit " + c.installs + "\n"
			if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), sh, "../../../scripts/audit.sh")
			run.Env = append(os.Environ(), "GO="+fake, "GOVULNCHECK=tool@v1")
			out, err := run.CombinedOutput()
			if unchecked := c.checks != "0" && c.checks != "3" || c.installs != "0"; (err == nil) != c.passes || strings.Contains(string(out), "NOT checked") != unchecked {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
