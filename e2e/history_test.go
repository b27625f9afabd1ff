//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// history is the work that the questions are about: sessions of the three
// hosts in two projects.
type history struct {
	Sessions []session
}

type session struct {
	ID, Project, Host string
	Start             time.Time
	Messages          []utterance
}

// utterance is a text of the user or the assistant, or a tool call of the
// assistant with its output.
type utterance struct {
	Role, Text, Tool string
	Input            map[string]any
	Output           string
}

// question is one that a user asks in a new session.
type question struct {
	ID             string
	Project        string `json:"asked_in_project"`
	Host           string `json:"asked_in_host"`
	Question       string
	Answer         string
	Session        string
	Elsewhere      bool   `json:"other_project"`
	Keyword, Query string // what a model makes of the question
}

// mainQuestions is how many of the questions count as the main ones, six a
// host; the others are further ones, some of them about the other project.
const mainQuestions = 18

func readJSON(t *testing.T, name string, to any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "questions", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// readHistory reads the history and the questions. Where the clock of the
// machine is behind the history, the history is moved back by whole days.
func readHistory(t *testing.T) (history, []question) {
	t.Helper()
	var h history
	var qs []question
	readJSON(t, "history.json", &h)
	readJSON(t, "questions.json", &qs)
	last := time.Time{}
	for _, s := range h.Sessions {
		if at := s.at(len(s.Messages)); at.After(last) {
			last = at
		}
	}
	const day = 24 * time.Hour
	if ahead := time.Until(last) + day; ahead > 0 {
		for i := range h.Sessions {
			h.Sessions[i].Start = h.Sessions[i].Start.Add(-(ahead/day + 1) * day)
		}
	}
	return h, qs
}

// at is when a message of the session was written.
func (s session) at(i int) time.Time { return s.Start.UTC().Add(time.Duration(i) * 40 * time.Second) }

// title is the name that a host gives the session.
func (s session) title() string {
	r := []rune(s.Messages[0].Text)
	return string(r[:min(len(r), 50)])
}

// turn is a prompt and the steps of the assistant until the next one.
type turn struct {
	prompt string
	does   []utterance
}

func (s session) turns() []turn {
	var turns []turn
	for _, m := range s.Messages {
		if m.Role == "user" {
			turns = append(turns, turn{prompt: m.Text})
			continue
		}
		last := &turns[len(turns)-1]
		last.does = append(last.does, m)
	}
	return turns
}

// shell is a tool call as a command line: the command itself, or a comparable
// one for the tools that Codex does not have.
func (u utterance) shell() string {
	switch u.Tool {
	case "Bash":
		return fmt.Sprint(u.Input["command"])
	case "Edit":
		return fmt.Sprintf("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: %v\n-%v\n+%v\n*** End Patch\nEOF", u.Input["file_path"], u.Input["old_string"], u.Input["new_string"])
	case "Read":
		return fmt.Sprintf("cat %v", u.Input["file_path"])
	}
	raw, err := json.Marshal(u.Input)
	if err != nil {
		return u.Tool
	}
	return u.Tool + " " + string(raw)
}

// uuid is an id that is the same in every run.
func uuid(parts ...any) string {
	h := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return fmt.Sprintf("%x-%x-4%03x-8%03x-%x", h[0:4], h[4:6], uint16(h[6])<<4|uint16(h[7]&15), uint16(h[8])<<4|uint16(h[9]&15), h[10:16])
}
