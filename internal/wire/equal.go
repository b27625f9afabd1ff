package wire

import (
	"bytes"
	"reflect"

	"github.com/lossless-context/lcm/llms"
)

// Equal reports whether two messages say the same: all of their fields but
// Raw. Nil and empty are the same, times are compared as instants, and
// metadata as it is written.
func Equal(a, b llms.Message) bool {
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

func equalParts(a, b []llms.Part, depth int) bool {
	if len(a) != len(b) || depth > partDepth {
		return false
	}
	for i := range a {
		if !equalPart(&a[i], &b[i], depth) {
			return false
		}
	}
	return true
}

func equalPart(a, b *llms.Part, depth int) bool {
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
