package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// Resumable is a Memory that can tell how far its last turn got, also in another process.
// An agent needs one to wait for approval and to continue a turn. [Transcript] is one, and
// so is the memory of a session of package lcm.
type Resumable interface {
	Memory
	// Turn returns the last message of the user and everything after it, notes included.
	Turn(ctx context.Context) ([]llms.Message, error)
	// Note stores a message that no model is shown. It reports false if a message with the
	// same ID is stored already.
	Note(ctx context.Context, m llms.Message) (bool, error)
}

// Pending tells what is missing of a turn.
type Pending struct {
	// Unfinished says that the turn has no answer yet.
	Unfinished bool
	// Calls are the tool calls of the turn that have no result.
	Calls []PendingCall
}

// PendingCall is a tool call without a result.
type PendingCall struct {
	llms.ToolCall           // the call
	Waits         bool      // for approval: nobody has decided yet
	Decision      *Decision // nil until somebody decides
	asked         bool      // it waits, or waited
	started       bool      // after it was approved
}

// Decision is the answer to a call that waits for approval.
type Decision struct {
	Approved bool      // or denied
	By       string    // who decided; it must not be empty
	Reason   string    // why; the model reads it if the call is denied
	At       time.Time // when; Decide sets it if it is zero
}

// Waiting returns the calls that nobody has decided on.
func (p Pending) Waiting() []llms.ToolCall {
	var calls []llms.ToolCall
	for _, c := range p.Calls {
		if c.Waits {
			calls = append(calls, c.ToolCall)
		}
	}
	return calls
}

// calls returns the calls without a result.
func (p Pending) calls() []llms.ToolCall {
	var out []llms.ToolCall
	for _, c := range p.Calls {
		out = append(out, c.ToolCall)
	}
	return out
}

// PendingOf returns what is missing of a turn, which Resumable.Turn returns.
func PendingOf(turn []llms.Message) Pending {
	var p Pending
	for _, m := range turn {
		if n, ok := noteOf(m); ok {
			p.note(n)
			continue
		}
		for _, call := range m.ToolCalls() {
			p.Calls = append(p.Calls, PendingCall{ToolCall: call})
		}
		for _, r := range m.ToolResults() {
			if i := slices.IndexFunc(p.Calls, func(c PendingCall) bool { return c.ID == r.CallID }); i >= 0 {
				p.Calls = slices.Delete(p.Calls, i, i+1)
			}
		}
		switch m.Role {
		case llms.RoleUser, llms.RoleTool:
			p.Unfinished = true
		case llms.RoleAssistant:
			p.Unfinished = len(m.ToolCalls()) > 0 || m.Meta[MetaInterrupted] == true
		}
	}
	return p
}

// note takes over what a note says of a call. The first decision counts.
func (p *Pending) note(n note) {
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.ID != n.call {
			continue
		}
		switch n.state {
		case noteWaits:
			c.Waits, c.asked = c.Decision == nil, true
		case noteStarted:
			c.started = true
		case noteApproved, noteDenied:
			if c.Decision == nil {
				c.Waits, c.Decision = false, &Decision{n.state == noteApproved, n.by, n.reason, n.at}
			}
		}
	}
}

// Decide approves or denies a call that waits for approval. Any process may do so that has
// the memory; [Agent.Continue] then goes on with the turn.
func Decide(ctx context.Context, memory Resumable, callID string, d Decision) error {
	if strings.TrimSpace(d.By) == "" {
		return errors.New("a decision needs the name of who made it")
	}
	if d.At.IsZero() {
		d.At = time.Now()
	}
	call, err := waitingCall(ctx, memory, callID)
	if err != nil || call.Decision != nil {
		return cmp.Or(err, decidedBy(call))
	}
	n := note{call: callID, tool: call.Name, state: noteDenied, by: d.By, reason: d.Reason, at: d.At}
	if d.Approved {
		n.state = noteApproved
	}
	if _, err := memory.Note(ctx, n.message()); err != nil {
		return err
	}
	// Somebody else may have decided at the same time: the first decision counts.
	if call, err = waitingCall(ctx, memory, callID); err == nil && call.Decision != nil && (call.Decision.By != d.By || !call.Decision.At.Equal(d.At)) {
		return decidedBy(call)
	}
	return nil
}

func decidedBy(c PendingCall) error {
	if c.Decision == nil {
		return nil
	}
	return fmt.Errorf("%s has decided on the call %q already", c.Decision.By, c.ID)
}

// waitingCall returns a call that waits, or waited, for approval.
func waitingCall(ctx context.Context, memory Resumable, id string) (PendingCall, error) {
	turn, err := memory.Turn(ctx)
	if err != nil {
		return PendingCall{}, err
	}
	p := PendingOf(turn)
	for _, c := range p.Calls {
		if c.ID == id && c.asked {
			return c, nil
		}
	}
	return PendingCall{}, fmt.Errorf("no call %q waits for approval%s", id, names(", but %s", p.Waiting()))
}

// names lists the ids of calls in a format, or returns "".
func names(format string, calls []llms.ToolCall) string {
	var ids []string
	for _, c := range calls {
		ids = append(ids, fmt.Sprintf("%s (%s)", c.ID, c.Name))
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf(format, strings.Join(ids, ", "))
}

// metaCall is the key in a note's Meta that has what the note says of a tool call.
const metaCall = "lcm_call"

// The states of a call that notes tell.
const (
	noteWaits    = "waits"
	noteApproved = "approved"
	noteDenied   = "denied"
	noteStarted  = "started" // after it was approved
)

// note is what a stored message says of a tool call, for people and for Continue.
type note struct {
	call, tool, state, by, reason string
	at                            time.Time
}

// message returns the note as it is stored. Its ID makes it unique: an approved call is
// started once, whoever continues the turn.
func (n note) message() llms.Message {
	text := fmt.Sprintf("The call %s of %s: %s", n.call, n.tool, n.state)
	if n.by != "" {
		text += " by " + n.by
	}
	if n.reason != "" {
		text += ": " + n.reason
	}
	m := llms.System(text)
	m.ID = fmt.Sprintf("%s:%s:%d", n.state, n.call, n.at.UnixNano())
	m.Meta = map[string]any{metaCall: map[string]any{
		"id": n.call, "tool": n.tool, "state": n.state, "by": n.by, "reason": n.reason, "at": n.at.UTC().Format(time.RFC3339Nano),
	}}
	return m
}

// noteOf reads a note back.
func noteOf(m llms.Message) (note, bool) {
	meta, ok := m.Meta[metaCall].(map[string]any)
	if !ok || m.Role != llms.RoleSystem {
		return note{}, false
	}
	text := func(key string) string { s, _ := meta[key].(string); return s }
	at, _ := time.Parse(time.RFC3339Nano, text("at"))
	return note{text("id"), text("tool"), text("state"), text("by"), text("reason"), at}, true
}
