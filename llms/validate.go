package llms

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxDepth bounds the recursion over parts inside parts.
const maxDepth = 64

// RoleError reports an unknown role.
type RoleError struct {
	Role    string   // the role that is not allowed
	Allowed []string // the roles that are
}

func (e *RoleError) Error() string {
	allowed := strings.Join(e.Allowed, ", ")
	if e.Role == "" {
		return "llms: the message has no role: it must be one of " + allowed
	}
	return fmt.Sprintf("llms: unknown role %q: it must be one of %s", e.Role, allowed)
}

// Validate reports an error in a message made in Go: an unknown role, or a part
// that lacks the content of its kind or has that of another kind. Messages read
// from a provider's JSON are valid.
func (m Message) Validate() error {
	if !m.Role.Valid() {
		return &RoleError{string(m.Role), []string{"user", "assistant", "system", "tool"}}
	}
	return validateParts(m.Parts, 0)
}

func validateParts(parts []Part, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("llms: parts nest more than %d deep", maxDepth)
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
	if len(p.Extra) > 0 && !json.Valid(p.Extra) {
		return errors.New("llms: Extra is not valid JSON")
	}
	return nil
}
