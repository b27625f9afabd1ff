// Package hook handles the events for which hosts call lcm: it stores new records of
// the transcript, gives a starting session or sub-agent a block about earlier work, and gives a
// prompt that refers to earlier work the messages that it refers to.
//
// A host waits for its hooks, so a [Handler] does little: a process that outlives the
// hook does the rest ([Answer.Rest]), and compacts large sessions. An error never
// reaches the host; it is recorded for `lcm doctor` ([hosts.Noted]).
//
// The handler remembers the context of a session, and does not show it again. It
// forgets this when the host compacts the session, because the session no longer has
// it either.
package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Event is a host's event, in one form for all hosts.
type Event struct {
	Host    string
	Name    string // Claude Code's name of the event, for every host
	Session string
	// Transcript is the session's file, if the host names it. Agent is the file
	// of the sub-agent that the event is about.
	Transcript string
	Agent      string
	Dir        string
	// Source is how a session starts: startup, resume, clear, compact.
	Source string
	// Prompt is the user's prompt, before the model sees it.
	Prompt string
	// InAgent says that the event happened inside a sub-agent.
	InAgent bool
}

// The events that lcm handles.
const (
	SessionStart     = "SessionStart"
	UserPromptSubmit = "UserPromptSubmit"
	PostToolUse      = "PostToolUse"
	toolFailure      = "PostToolUseFailure" // of older settings
	Stop             = "Stop"
	SubagentStart    = "SubagentStart"
	SubagentStop     = "SubagentStop"
	PreCompact       = "PreCompact"
	PostCompact      = "PostCompact"
	SessionEnd       = "SessionEnd"
)

// maxEvent is larger than any event.
const maxEvent = 8 << 20

// wire is an event as all hosts write it.
type wire struct {
	Event      string `json:"hook_event_name"`
	Session    string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	AgentPath  string `json:"agent_transcript_path"`
	AgentID    string `json:"agent_id"`
	Cwd        string `json:"cwd"`
	Source     string `json:"source"`
	Prompt     string `json:"prompt"`
}

// Parse parses the event that a host sent.
func Parse(host string, r io.Reader) (Event, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("read the event: %w", err)
	case len(data) > maxEvent:
		return Event{}, fmt.Errorf("the event has more than %d bytes", maxEvent)
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Event{}, fmt.Errorf("read the event: %w", err)
	}
	if w.Event == "" {
		return Event{}, errors.New("the event has no name")
	}
	of := about(host)
	if name, ok := of.Events[w.Event]; ok {
		w.Event = name
	}
	if _, rest, ok := strings.Cut(w.Prompt, "</"+of.HookTag+">"); ok && of.HookTag != "" && strings.HasPrefix(w.Prompt, "<"+of.HookTag+">") {
		w.Prompt = strings.TrimSpace(rest)
	}
	return Event{Host: host, Name: w.Event, Session: w.Session, Transcript: w.Transcript, Agent: w.AgentPath, Dir: w.Cwd, Source: w.Source,
		Prompt: w.Prompt, InAgent: w.AgentID != ""}, nil
}
