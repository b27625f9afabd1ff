package store_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Whatever is pasted, an id comes out of it in its canonical form, or an error
// that does not repeat a whole novel; and the canonical form reads as itself.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"msg_1", "[LCM File: file_0123456789abcdef | notes.txt]", "sum_ABCDEF0123456789", "msg_99999999999999999999", "msg_0", "msg_abc", "sum_1 msg_2", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := store.ParseID(s)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		set := 0
		canonical := ""
		if id.Message != 0 {
			set, canonical = set+1, id.Message.String()
		}
		if id.Summary != "" {
			set, canonical = set+1, string(id.Summary)
		}
		if id.Payload != "" {
			set, canonical = set+1, string(id.Payload)
		}
		if set != 1 {
			t.Fatalf("%q gives %+v", s, id)
		}
		if id.Message < 0 {
			t.Fatalf("%q gives %s", s, id.Message)
		}
		again, err := store.ParseID("text around " + canonical + ", as people paste it")
		if err != nil || again != id {
			t.Errorf("%q gives %+v, and that %+v, %v", s, id, again, err)
		}
		if strings.ContainsAny(canonical, " \n\"'<>/\\;") {
			t.Errorf("%q gives an id with characters that no id has: %q", s, canonical)
		}
	})
}
