// Package hook handles the events for which hosts call lcm: it stores new records of
// the transcript, gives a starting session a block about earlier work, and gives a
// prompt that refers to earlier work the messages that it refers to.
//
// A host waits for its hooks, so a [Handler] does little: a process that outlives the
// hook does the rest ([Answer.Rest]), and compacts large sessions. An error never
// reaches the host; it is recorded for `lcm doctor` ([Noted]).
//
// The handler remembers the context of a session, and does not show it again. It
// forgets this when the host compacts the session, because the session no longer has
// it either.
package hook

import (
	"cmp"
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
	Stop             = "Stop"
	SubagentStop     = "SubagentStop"
	PreCompact       = "PreCompact"
	PostCompact      = "PostCompact"
	SessionEnd       = "SessionEnd"
)

// maxEvent is larger than any event.
const maxEvent = 8 << 20

// wire is an event as hosts write it. Hosts agree on little but the shape.
type wire struct {
	Event        string   `json:"hook_event_name"`
	EventName    string   `json:"event"`
	Session      string   `json:"session_id"`
	Conversation string   `json:"conversation_id"`
	Thread       string   `json:"thread_id"`
	Transcript   string   `json:"transcript_path"`
	AgentPath    string   `json:"agent_transcript_path"`
	AgentID      string   `json:"agent_id"`
	Cwd          string   `json:"cwd"`
	Roots        []string `json:"workspace_roots"`
	Source       string   `json:"source"`
	Trigger      string   `json:"trigger"`
	Prompt       string   `json:"prompt"`
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
	e := Event{Host: host, Name: cmp.Or(w.Event, w.EventName), Session: cmp.Or(w.Session, w.Conversation, w.Thread),
		Transcript: w.Transcript, Agent: w.AgentPath, Dir: w.Cwd, Source: cmp.Or(w.Source, w.Trigger), Prompt: w.Prompt, InAgent: w.AgentID != ""}
	if e.Dir == "" && len(w.Roots) > 0 {
		e.Dir = w.Roots[0]
	}
	if e.Name == "" {
		return e, errors.New("the event has no name")
	}
	e.Name = strings.ToUpper(e.Name[:1]) + e.Name[1:]
	return e, nil
}
