package core

// Discoverable is a tool or agent that describes itself to a model at three
// lengths: in one line, in detail, and with help for failures.
type Discoverable interface {
	// BasicDescription is one line. It is the only text of the three that a
	// system prompt carries.
	BasicDescription() string
	// AdvanceDescription tells capabilities and usage in detail.
	AdvanceDescription() string
	// Troubleshooting lists common failures and what to do about them.
	Troubleshooting() string
}

// AsDiscoverable returns v as a Discoverable. A decorator that is not
// Discoverable itself but has a method Unwrap() Tool is looked through, so a
// hooked tool explains itself as the tool it wraps.
func AsDiscoverable(v any) (Discoverable, bool) { return unwrapped[Discoverable](v) }

// BasicDescription returns the basic description of v, or "" if v is not
// [Discoverable].
func BasicDescription(v any) string {
	if d, ok := AsDiscoverable(v); ok {
		return d.BasicDescription()
	}
	return ""
}

// SubAgent is an agent that another agent can hand a task to.
type SubAgent interface {
	// Name is the exact name by which the agent is found.
	Name() string
	// ChatStream prepares a call with one message. Nothing runs until the
	// call is started.
	ChatStream(message string) IResponseChStarter
	Discoverable
}
