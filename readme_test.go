package lcm_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The README's Go is part of a program that is compiled with everything else.
func TestTheReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("the README shows no Go")
	}
	if closes := "defer engine.Close(ctx)\n"; !strings.Contains(string(readme), closes) { // it waits for folds under way
		t.Errorf("the README leaves out %s", closes)
	}
	body := squeeze(string(program))
	for _, b := range blocks {
		for line := range strings.Lines(b[1]) {
			if line = squeeze(line); line != "" && line != "// …" && !strings.Contains(body, line) {
				t.Errorf("examples/quickstart has no %q", line)
			}
		}
	}
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// The README's command installs the static binary with a version that the README promises, and
// not what `go install` makes by itself.
func TestTheReadmeInstallsWhatItPromises(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    ((?:make|go) install\S*)`).FindStringSubmatch(string(readme))
	if command == nil || command[1] != "make install" {
		t.Fatalf("the README installs with %q", command)
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	out, err := exec.Command("make", "--silent", "GO=printenv CGO_ENABLED; echo", "install").CombinedOutput()
	if got := string(out); err != nil || !strings.HasPrefix(got, "0\ninstall ") || !strings.Contains(got, " -s -w -X main.version=") || !strings.HasSuffix(got, " ./cmd/lcm\n") {
		t.Errorf("make install runs %q, %v", got, err)
	}
}
