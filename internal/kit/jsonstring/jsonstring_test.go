package jsonstring_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/jsonstring"
)

// FuzzUnescape: for literals that encoding/json accepts, the results are equal.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{``, `plain`, `a\n\t\r\b\f\"\\\/b`, `\u0041\u00e9`, `\ud83d\ude42`, `\ud83d`, `\ud83dx`, `\ude42\ud83d`, `\u12`, `\q`, `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, inside string) {
		if !utf8.ValidString(inside) {
			t.Skip("encoding/json replaces bytes that are not UTF-8")
		}
		got, ok := jsonstring.Unescape(nil, []byte(inside))
		var want string
		if json.Unmarshal([]byte(`"`+inside+`"`), &want) == nil && (!ok || string(got) != want) {
			t.Errorf("%q: %q, %v, want %q", inside, got, ok, want)
		}
	})
}

func TestUnescapeRefuses(t *testing.T) {
	for _, inside := range []string{`\`, `\q`, `\u12`, `\u12g4`} {
		if got, ok := jsonstring.Unescape(nil, []byte(inside)); ok {
			t.Errorf("%q became %q", inside, got)
		}
	}
}
