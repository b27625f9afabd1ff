package claude

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
)

const sessionOfTest = "00000000-0000-4000-8000-000000000001"

// The names of directories are those that Claude Code 2.1.197 made.
func TestSlug(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/ann/my_project.v2":  "-home-ann-my-project-v2",
		"/home/ann/Übung 1":        "-home-ann--bung-1",
		"/home/ann/U\u0308bung 1":  "-home-ann--bung-1",
		"/home/ann/😀":              "-home-ann---",
		`C:\Users\ann\x`:           "C--Users-ann-x",
		"/azAZ09@[{`:/":            "-azAZ09------",
		strings.Repeat("/abc", 50): strings.Repeat("-abc", 50),
		strings.Repeat("/abc", 51): "",
	} {
		if got, err := slug(dir); got != want || (err != nil) != (want == "") {
			t.Errorf("%s is %q, %v", dir, got, err)
		}
	}
}

// No stored text becomes a path.
func TestPlaces(t *testing.T) {
	for _, c := range []struct{ session, id, want string }{
		{sessionOfTest, "u1", "-p/" + sessionOfTest + ".jsonl"},
		{sessionOfTest, "aside:tool-results/a.txt", "-p/" + sessionOfTest + "/tool-results/a.txt"},
		{sessionOfTest, "aside:tool-results/..", ""},
		{sessionOfTest, "aside:tool-results/../../x", ""},
		{sessionOfTest, "aside:tool-results/", ""},
		{sessionOfTest, "aside:queued/u1", ""},
		{sessionOfTest, "aside:agent-a.meta.json", ""}, {sessionOfTest, "aside:.meta.json", ""},
		{sessionOfTest + "/agent-a", "u1", "-p/" + sessionOfTest + "/subagents/agent-a.jsonl"},
		{sessionOfTest + "/agent-a", "aside:agent-a.meta.json", "-p/" + sessionOfTest + "/subagents/agent-a.meta.json"},
		{sessionOfTest + "/agent-a", "aside:agent-b.meta.json", ""},
		{"agent-a", "u1", "-p/agent-a.jsonl"},
		{"../x", "u1", "error"}, {"x", "u1", "error"}, {sessionOfTest + "/../x", "u1", "error"}, {"../x/agent-a", "u1", "error"}, {"x/agent-a", "u1", "error"},
		{"..", "aside:tool-results/a.txt", "error"},
	} {
		got, err := Host{}.Places(hosts.Transcript{Session: c.session, Dir: "/p"})(c.id, nil)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s, %s: %s, %v", c.session, c.id, got, err)
		}
	}
}
