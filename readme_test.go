package lcm_test

import (
	"os"
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
