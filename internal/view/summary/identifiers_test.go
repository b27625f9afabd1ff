package summary

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestIdentifiers(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want string // class:text separated by " | "
	}{
		{"Nothing to see here, and/or nothing at all.", ""},
		{"See https://example.com/a?b=1,c#d. Then go.", "url:https://example.com/a?b=1,c#d"},
		{"(http://x.io/y)", "url:http://x.io/y"},
		{"mail ann@example.org, or localhost:8080!", "url:ann@example.org | url:localhost:8080"},
		{"open store/sqlite/fold.go:118 and README.md", "path:store/sqlite/fold.go:118 | path:README.md"},
		{"in ./cmd/lcm and ~/.config/lcm/config.toml", "path:./cmd/lcm | path:~/.config/lcm/config.toml"},
		{"/etc/hosts is absolute", "path:/etc/hosts"},
		{"go1.26 and v1.2.3-rc.1, uax29 v2.7.0", "version:go1.26 | version:v1.2.3-rc.1 | symbol:uax29 | version:v2.7.0"},
		{"version 0.35.6 shipped", "version:0.35.6"},
		{"commit 3f9a1c2 (feedfacecafe12)", "hash:3f9a1c2 | hash:feedfacecafe12"},
		{"id 123e4567-e89b-12d3-a456-426614174000.", "hash:123e4567-e89b-12d3-a456-426614174000"},
		{"on 2026-03-01 at 09:30, or 2026-03-01T09:30:00Z", "date:2026-03-01 | date:09:30 | date:2026-03-01T09:30:00Z"},
		{"by 15 November 2026 or Nov 20, 2026; May be", "date:15 November 2026 | date:Nov 20, 2026"},
		{"took 250 ms of 1.5s, 15 %, 4,760 lines, 8080", "number:250 ms | number:1.5s | number:15 % | number:4,760 | number:8080"},
		{"600/min is 10/s, or rows/s; 0.8+0.4, 3/4, 1.7e15/6.8e38", "number:600/min | number:10/s | number:0.8 | number:0.4 | number:1.7e15 | number:6.8e38"},
		{"the 2nd of 3 tries", ""},
		{"issue #42 costs $20", "number:#42 | number:$20"},
		{"call parseConfig() or os.Open, MAX_RETRIES, user_id", "symbol:parseConfig() | symbol:os.Open | symbol:MAX_RETRIES | symbol:user_id"},
		{"HTTP and URLs are words, HTTPServer is not, nor p99", "symbol:HTTPServer | symbol:p99"},
		{"use --dry-run with $HOME and ABC-123", "symbol:--dry-run | symbol:$HOME | symbol:ABC-123"},
		{"std::vec::Vec", "symbol:std::vec::Vec"},
		{"在store/sqlite.go里改2026年3月1日的250毫秒", "path:store/sqlite.go | date:2026年3月1日 | number:250毫秒"},
		{`{"file":"main.go","line":1234}`, "path:main.go | number:1234"},
		{"Исправил internal/db/файл.go за 30 min", "path:internal/db/файл.go | number:30 min"},
	} {
		var got []string
		for _, id := range Identifiers(tc.in) {
			got = append(got, string(id.Class)+":"+id.Text)
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " | ")); diff != "" {
			t.Errorf("Identifiers(%q): (-want +got)\n%s", tc.in, diff)
		}
	}
}

func TestMentions(t *testing.T) {
	for _, tc := range []struct {
		text, id string
		want     bool
	}{
		{"retry after 250 ms", "250 ms", true},
		{"retry after 1250 ms", "250 ms", false},
		{"it is 1.250 now", "250", false},
		{"see store/fold.go:12", "fold.go", true},
		{"see unfold.go", "fold.go", false},
		{"userIDs", "userID", false},
		{"在main.go里", "main.go", true},
		{"", "x", false},
		{"x", "", false},
	} {
		if got := Mentions(tc.text, tc.id); got != tc.want {
			t.Errorf("Mentions(%q, %q) = %v, want %v", tc.text, tc.id, got, tc.want)
		}
	}
}

// checkIdentifiers fails where the promises of Identifiers do not hold.
func checkIdentifiers(t interface{ Fatalf(string, ...any) }, text string) {
	end := 0
	for _, id := range Identifiers(text) {
		if id.At < end || id.At+len(id.Text) > len(text) || text[id.At:id.At+len(id.Text)] != id.Text || id.Text == "" {
			t.Fatalf("identifier %+v of %q is not in its place (previous ended at %d)", id, text, end)
		}
		end = id.At + len(id.Text)
		if !utf8.ValidString(id.Text) || strings.ContainsFunc(id.Text, unicode.IsControl) {
			t.Fatalf("identifier %q holds bytes that are not text", id.Text)
		}
		// A ledger lists identifiers without their sentences.
		if alone := Identifiers(id.Text); len(alone) != 1 || alone[0].Text != id.Text {
			t.Fatalf("%q alone is read as %+v", id.Text, alone)
		}
		if strings.ContainsAny(id.Text, "<>;\"`") {
			t.Fatalf("identifier %q holds a delimiter", id.Text)
		}
	}
}

func TestIdentifiersInPlace(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", "B", "7", "12", "/", ".", ":", "-", "_", "://", "()", " ", "\n", "#", "$", "@", "%", ",",
		"v1", "go", "ms", "May", "年", "月", "é", "\x00", "\xff", "2026-01-02", "T09:30", "main", "0x", "::", "www."})
	rapid.Check(t, func(t *rapid.T) {
		checkIdentifiers(t, strings.Join(rapid.SliceOf(pieces).Draw(t, "pieces"), ""))
		checkIdentifiers(t, rapid.String().Draw(t, "text"))
	})
}

func FuzzIdentifiers(f *testing.F) {
	f.Add("see https://example.com/a.b?c=d, store/x.go:12 and v1.2.3 on 2026-03-01 09:30")
	f.Add("a:b:://c 12:00-x #1 $2 www.x.y:80 在a.go里2026年3月")
	f.Fuzz(func(t *testing.T, text string) { checkIdentifiers(t, text) })
}
