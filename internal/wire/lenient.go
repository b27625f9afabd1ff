package wire

import (
	"encoding/json"
	"errors"
)

// Lenient decodes the fields of T that have the expected type and leaves the
// others zero. Servers that imitate a provider's API often differ in fields that
// do not matter here, and json.Unmarshal alone would fail on those.
type Lenient[T any] struct{ Value T }

// UnmarshalJSON implements [json.Unmarshaler].
func (l *Lenient[T]) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &l.Value)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil // json.Unmarshal has decoded the rest
	}
	return err
}
