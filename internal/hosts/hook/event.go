// Package hook answers the events that hosts call lcm for: it stores what is
// new in the transcript, gives a session that knows nothing of earlier work a
// block of context, and a prompt that refers back to earlier work the lines
// that it refers to.
//
// A host waits for its hooks, so a [Handler] does little: what does not fit
// into its bounds is left to a process that outlives the hook ([Answer.Rest]
// says what), and so is folding a session that has grown large. It never fails in a way that a host would notice; what went
// wrong is noted for `lcm doctor` ([Noted]).
//
// What was shown to a session is remembered, so that it is not shown twice,
// and forgotten when the host compacts the session, because then the session
// has forgotten it too.
package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Event is what a host says happened, in the one form that lcm works with.
type Event struct {
	Host    string
	Name    string // as Claude Code names events, whatever the host
	Session string
	// Transcript is the session's file, where the host tells it; Agent that of
	// the sub-agent that the event is about.
	Transcript string
	Agent      string
	Dir        string
	// Source is what a session starts from: startup, resume, clear, compact.
	Source string
	// Prompt is what the user is about to say.
	Prompt string
	// InAgent says that the event happened inside a sub-agent.
	InAgent bool
}

// The events that lcm does something about.
const (
	SessionStart     = "SessionStart"
	UserPromptSubmit = "UserPromptSubmit"
	Stop             = "Stop"
	SubagentStop     = "SubagentStop"
	PreCompact       = "PreCompact"
	PostCompact      = "PostCompact"
	SessionEnd       = "SessionEnd"
)

// maxEvent is more than any event has; a host that sends more is not waited
// for.
const maxEvent = 8 << 20

// wire is an event as hosts write it. They agree on little but the shape.
type wire struct {
	Event        string   `json:"hook_event_name"`
	EventName    string   `json:"event"`
	Session      string   `json:"session_id"`
	Conversation string   `json:"conversation_id"`
	Thread       string   `json:"thread_id"`
	Transcript   *string  `json:"transcript_path"`
	AgentPath    *string  `json:"agent_transcript_path"`
	AgentID      string   `json:"agent_id"`
	Cwd          string   `json:"cwd"`
	Roots        []string `json:"workspace_roots"`
	Source       string   `json:"source"`
	Trigger      string   `json:"trigger"`
	Prompt       string   `json:"prompt"`
}

// Parse reads the event that a host sent.
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
		Dir: w.Cwd, Source: cmp.Or(w.Source, w.Trigger), Prompt: w.Prompt, InAgent: w.AgentID != ""}
	if e.Dir == "" && len(w.Roots) > 0 {
		e.Dir = w.Roots[0]
	}
	if w.Transcript != nil {
		e.Transcript = *w.Transcript
	}
	if w.AgentPath != nil {
		e.Agent = *w.AgentPath
	}
	if e.Name == "" {
		return e, errors.New("the event has no name")
	}
	e.Name = strings.ToUpper(e.Name[:1]) + e.Name[1:]
	return e, nil
}
