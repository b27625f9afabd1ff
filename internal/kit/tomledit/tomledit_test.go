package tomledit_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/kit/tomledit"
)

func TestSet(t *testing.T) {
	for name, tt := range map[string]struct{ src, want string }{
		"empty":        {"", "[a.b]\nk = 2\n"},
		"new table":    {"x = 1", "x = 1\n\n[a.b]\nk = 2\n"},
		"replaced":     {"[a.b]\nk = [1,\n 2] # mine\nz = 1\n", "[a.b]\nk = 2 # mine\nz = 1\n"},
		"added":        {"[a.b]\nz = 1\n\n[a.b.c]\ny = 1\n", "[a.b]\nz = 1\nk = 2\n\n[a.b.c]\ny = 1\n"},
		"empty table":  {"[a.b]", "[a.b]\nk = 2\n"},
		"dotted":       {"a.b.z = 1\n", "a.b.z = 1\na.b.k = 2\n"},
		"quoted":       {"[a . \"b\"]\n'k' = 1\r\n", "[a . \"b\"]\n'k' = 2\r\n"},
		"in a string":  {"x = '''\n[a.b]\nk = 1'''\n", "x = '''\n[a.b]\nk = 1'''\n\n[a.b]\nk = 2\n"},
		"windows":      {"[a.b]\r\nz = 1\r\n", "[a.b]\r\nz = 1\r\nk = 2\r\n"},
		"dot in a key": {"[\"a.b\"]\nk = 1\n", "[\"a.b\"]\nk = 1\n\n[a.b]\nk = 2\n"},
	} {
		if got, err := tomledit.Set(tt.src, []string{"a", "b"}, "k", "2"); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
	if got, err := tomledit.Set("a = { b = {} }\n", []string{"a", "b"}, "k", "2"); err == nil {
		t.Errorf("a value in braces became %q", got)
	}
}

func TestCutTable(t *testing.T) {
	for name, tt := range map[string]struct{ src, want string }{
		"alone":    {"[a.b]\nk = 1\n", ""},
		"absent":   {"[a]\nb = 1\n", "[a]\nb = 1\n"},
		"between":  {"x = 1\n\n[a.b]\nk = 1\n[a.b.c]\ny = 1\n\n# of z\n[z]\n", "x = 1\n\n# of z\n[z]\n"},
		"twice":    {"[[a.b]]\nk = 1\n\n[[a.b]]\nk = 2\n[z]\n", "[z]\n"},
		"windows":  {"x = 1\r\n\r\n[a.b]\r\nk = 1\r\n", "x = 1\r\n"},
		"no blank": {"x = 1\n[a.b]\nk = 1", "x = 1\n"},
	} {
		if got := tomledit.CutTable(tt.src, []string{"a", "b"}); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
