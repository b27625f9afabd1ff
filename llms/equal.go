package llms

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
)

// Equal reports whether two messages say the same: all of their fields but
// Raw. Nil and empty are the same, times are compared as instants, and
// metadata as it is written.
func Equal(a, b Message) bool {
	return a.ID == b.ID && a.Time.Equal(b.Time) && a.Role == b.Role && equalMeta(a.Meta, b.Meta) && equalParts(a.Parts, b.Parts, 0)
}

func equalMeta(a, b map[string]any) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errX := appendValue(nil, a, 0)
	y, errY := appendValue(nil, b, 0)
	if errX != nil || errY != nil {
		return reflect.DeepEqual(a, b)
	}
	return bytes.Equal(x, y)
}

func equalParts(a, b []Part, depth int) bool {
	if len(a) != len(b) || depth > maxDepth {
		return false
	}
	for i := range a {
		if !equalPart(&a[i], &b[i], depth) {
			return false
		}
	}
	return true
}

func equalPart(a, b *Part, depth int) bool {
	if a.Kind != b.Kind || a.Text != b.Text || a.Signature != b.Signature || !bytes.Equal(a.Extra, b.Extra) {
		return false
	}
	if !equalPtr(a.Call, b.Call) || !equalPtr(a.Ref, b.Ref) {
		return false
	}
	if x, y := a.Blob, b.Blob; x == nil || y == nil {
		if x != y {
			return false
		}
	} else if x.MIME != y.MIME || x.Name != y.Name || x.URL != y.URL || !bytes.Equal(x.Data, y.Data) {
		return false
	}
	x, y := a.Result, b.Result
	if x == nil || y == nil {
		return x == y
	}
	return x.CallID == y.CallID && x.Name == y.Name && x.IsError == y.IsError && equalParts(x.Output, y.Output, depth+1)
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Validate reports what is wrong with a message made in Go: a role that does
// not exist, or a part that lacks what its kind calls for or has what belongs
// to another kind. What Decode reads from a provider's shape is valid.
func (m Message) Validate() error {
	if !m.Role.Valid() {
		return &RoleError{string(m.Role), lcmRoles}
	}
	return validateParts(m.Parts, 0)
}

func validateParts(parts []Part, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	for i, p := range parts {
		err := p.validate()
		if err == nil && p.Result != nil {
			err = validateParts(p.Result.Output, depth+1)
		}
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

func (p Part) validate() error {
	switch p.Kind {
	case PartText, PartReasoning:
		if p.Call != nil || p.Result != nil || p.Blob != nil {
			return fmt.Errorf("llms: a %s part has a call, result or blob", p.Kind)
		}
	case PartToolCall:
		if p.Call == nil || p.Result != nil || p.Blob != nil {
			return errors.New("llms: a tool_call part needs Call and no other content")
		}
	case PartToolResult:
		if p.Result == nil || p.Call != nil || p.Blob != nil {
			return errors.New("llms: a tool_result part needs Result and no other content")
		}
	case PartBlob:
		if p.Blob == nil && p.Ref == nil || p.Call != nil || p.Result != nil {
			return errors.New("llms: a blob part needs Blob or Ref and no other content")
		}
	case PartOther:
		if len(p.Extra) == 0 {
			return errors.New("llms: a part of another kind needs its block in Extra")
		}
	default:
		return fmt.Errorf("llms: unknown kind of part %q", p.Kind)
	}
	if p.Ref != nil && p.Text != "" {
		return errors.New("llms: a part with a Ref still has its text")
	}
	if len(p.Extra) > 0 {
		if err := check(p.Extra); err != nil {
			return fmt.Errorf("llms: Extra: %w", err)
		}
	}
	return nil
}
