package core

// Behavior is what a tool declares of its calls. The zero value is the careful one: a call
// may change something, and must not run twice.
type Behavior struct {
	ReadOnly      bool // a call changes nothing
	Repeatable    bool // a call may run again if it is unknown whether it ran; true of a ReadOnly one
	NeedsApproval bool // a call waits until somebody approves it
}

// Declaring is a tool that declares how its calls behave. [NewTool] makes such tools from
// [ToolInfo].Behavior.
type Declaring interface {
	Behavior() Behavior
}

// BehaviorOf returns what a tool declares, or the zero value. It looks through decorators as
// [AsDiscoverable] does.
func BehaviorOf(t Tool) Behavior {
	d, ok := unwrapped[Declaring](t)
	if !ok {
		return Behavior{}
	}
	b := d.Behavior()
	b.Repeatable = b.Repeatable || b.ReadOnly
	return b
}

// unwrapped returns v, or the tool that it decorates, as a T.
func unwrapped[T any](v any) (T, bool) {
	for !IsNil(v) {
		if t, ok := v.(T); ok {
			return t, true
		}
		w, ok := v.(interface{ Unwrap() Tool })
		if !ok {
			break
		}
		v = w.Unwrap()
	}
	var none T
	return none, false
}
