package notes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// What is invisible, reorders text or controls a terminal is no text; what joins letters is.
func TestHiddenCharacters(t *testing.T) {
	for _, r := range []rune{0x80, 0x9f, 0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028, 0x202e, 0x2060, 0x206f, 0xfeff, 0xfff0, 0xfffb, 0xfffe, 0xffff, 0xe0000, 0xe007f} {
		if got := Gist("a"+string(r)+"b", 100); strings.ContainsRune(got, r) {
			t.Errorf("%U is shown in %q", r, got)
		}
	}
	for _, r := range []rune{0xa1, 0xac, 0x61b, 0x180f, 0x200c, 0x200d, 0x2027, 0x2070, 0xfefe, 0xff00, 0xffef, 0xfffc, 0xe0080} {
		if got := Gist("a"+string(r)+"b", 100); !strings.ContainsRune(got, r) {
			t.Errorf("%U is not shown in %q", r, got)
		}
	}
	for text, want := range map[string]int{
		"\x1b[1;31mx": 7, "\x1b[?25lx": 6, "\x1b[31": 4, "\x1b[\x7f": 2, "\x1b[@x": 3, "\x1b[1\x1fx": 3, "\x1bx": 1, "\x1b": 1, "\x1b[" + strings.Repeat("1", 40): 32,
		"\x1fx": 1, "\x7fx": 1, "\xffx": 1, "\u200bx": 3, "\ufffdx": 0, " x": 0,
	} {
		if got := dirtyLen(text, 0, len(text)); got != want {
			t.Errorf("%d bytes of %q are no text, want %d", got, text, want)
		}
	}
}

// A sentence ends at a mark that a space or a script without spaces follows, with its quotes.
func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		"It works. It is fast.": "It works.", "Is it? yes": "Is it?", "Stop! now": "Stop!", "It is 3. really. So": "It is 3. really.",
		"Use e.g. This one. So": "Use e.g. This one.", "1. Install it. So": "1. Install it.", "There are 1. So": "There are 1.", "Ask A. Smith. So": "Ask A. Smith.",
		"He (says yes.) So": "He (says yes.)", "“Yes.” So": "“Yes.”", "Wait... So": "Wait...", "Open a.go and b.go. So": "Open a.go and b.go.", "Really?! So": "Really?!",
		"Ja.次": "Ja.", "Ja.ก": "Ja.", "Ja.가": "Ja.", "Ja.ß": "Ja.ß", "Ja.\u00a0So": "Ja.", "終了。次": "終了。", "終了！次": "終了！", "終了？次": "終了？", "終了．次": "終了．", "終了｡次": "終了｡", "「終了。」次": "「終了。」",
		"हाँ। ना": "हाँ।", "نعم؟ لا": "نعم؟", "well… so": "well…", "well…so": "well…so", "well…": "well…", "no end": "no end",
	} {
		if got := text[:sentenceEnd(text, 0, len(text))]; got != want {
			t.Errorf("the first sentence of %q is %q, want %q", text, got, want)
		}
	}
}

func TestCommands(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"command":"go test"}`: "go test", `{"cmd":"ls"}`: "ls", `{"command":["bash","-lc","go test"]}`: "go test", `{"command":["go","test","./..."]}`: "go test ./...",
		`{"command":["sh","-c"]}`: "sh -c", `{"command":[]}`: "", `{"commands":["a","b"]}`: "a; b", `{}`: "",
	} {
		if got := Command(&llms.ToolCall{Name: "Bash", Arguments: arguments}); got != want {
			t.Errorf("%s runs %q, want %q", arguments, got, want)
		}
	}
	for line, want := range map[string]bool{
		"go test ./...": true, "cd net && go vet ./... 2>&1 | head": true, "git fetch >/dev/null; git status": true, "": true, "go test;": true,
		"go test ./... > out.txt": false, "go test && rm a.go": false, "rm a.go": false, "cdx": false, "go run .": false,
	} {
		if Checks(line) != want {
			t.Errorf("%q only looks or checks: %v", line, !want)
		}
	}
}

// The hunks of a patch, and what an edit replaces; a file that is written whole has no lines before.
func TestChanges(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@\n one\n-two\n+2\n\n@@ func\n+three\n*** Add File: b.go\n+new\n*** Delete File: c.go\n*** End Patch"
	const hunks = `a.go ["one" "two"] ["one" "2"], a.go [] ["three"], b.go [] ["new"]`
	for _, c := range []struct{ tool, arguments, files, want string }{
		{"apply_patch", fmt.Sprintf(`{"input":%q}`, patch), "a.go b.go c.go", hunks},
		{"apply_patch", patch, "a.go b.go c.go", hunks},
		{"shell", fmt.Sprintf(`{"command":["bash","-lc",%q]}`, "apply_patch <<E\n"+patch), "a.go b.go c.go", hunks},
		{"Write", `{"file_path":"./a.go","content":"x\ny"}`, "a.go", `a.go [] ["x" "y"]`},
		{"Edit", `{"file_path":"a.go","old_string":"x","new_string":""}`, "a.go", `a.go ["x"] [""]`},
		{"MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"x","new_string":"y"},{"old_string":"","new_string":"z"}]}`, "a.go", `a.go ["x"] ["y"], a.go [] ["z"]`},
		{"Edit", `{"file_path":"a.go"}`, "a.go", ""}, {"Read", `{"file_path":"a.go"}`, "", ""},
	} {
		call := &llms.ToolCall{Name: c.tool, Arguments: c.arguments}
		var got []string
		for _, e := range Changes(call) {
			got = append(got, fmt.Sprintf("%s %q %q", e.File, e.Old, e.New))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s %s changes %s, want %s", c.tool, c.arguments, got, c.want)
		}
		if files := strings.Join(Changed(call), " "); files != c.files {
			t.Errorf("%s %s changes the files %s, want %s", c.tool, c.arguments, files, c.files)
		}
	}
}

// Lines that Write did not make are notes of the assistant.
func TestParseOtherLines(t *testing.T) {
	for line, want := range map[string]Line{
		"user#3: go": {User, 3, "go"}, "user#x: go": {Assistant, 0, "user#x: go"}, "user#3 go": {Assistant, 0, "user#3 go"}, "user: go": {Assistant, 0, "user: go"},
		"robot#3: go": {Assistant, 0, "robot#3: go"},
	} {
		if got := Parse("\n" + line + "\n\nExpand for details about: all\n"); len(got) != 1 || got[0] != want {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
}
