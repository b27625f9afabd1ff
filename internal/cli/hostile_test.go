package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// evil is text that would recolour, retitle or reorder the text of a terminal.
const evil = "\x1b[31mred\x1b]0;owned\a\u009b2J\u202eback\u2066\r\x00\x7f needle"

// hostileDatabase makes a database in which everything that can hold text is
// hostile.
func hostileDatabase(t *testing.T, path, dir string) {
	t.Helper()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db, lcm.WithLargeContent(500), lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	s := engine.Session("key "+evil, lcm.WithAgent("agent "+evil), lcm.WithTitle("title "+evil), lcm.WithProject(store.Project{Origin: "origin " + evil, Root: dir}))
	image := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartText, Text: "look " + evil},
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Name: "name " + evil, Data: []byte(strings.Repeat("\x89PNG", 900))}},
	}}
	big := llms.Result("call"+evil, "tool "+evil, strings.Repeat(evil+" of a long output\n", 400), false)
	ms := []llms.Message{
		llms.User("why " + evil), llms.Calls("because "+evil, llms.ToolCall{ID: "call" + evil, Name: "tool " + evil, Arguments: `{"a":"` + evil + `"}`}), big,
		image, llms.Assistant("done " + evil), llms.User("and now " + evil),
	}
	for i := range ms {
		ms[i].ID = fmt.Sprintf("id %d %s", i, evil)
	}
	if err := s.Append(ctx, ms...); err != nil {
		t.Fatal(err)
	}
	v, err := db.View(ctx, 1, store.Window{})
	if err != nil {
		t.Fatal(err)
	}
	fold := func(from, to int) {
		err := db.Update(ctx, 1, func(w store.Writer) error {
			_, err := w.Fold(ctx, store.NewSummary{Over: v.Items[from:to], Wording: store.Wording{
				Body: "summary " + evil, Tokens: 20, Level: summary.Normal, Method: "extractive", Model: "model " + evil,
			}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fold(0, 3)
	if err := db.Archive(ctx, 1, "cause "+evil); err != nil {
		t.Fatal(err)
	}
	if err := engine.Session("key "+evil, lcm.WithProject(store.Project{Root: dir})).Append(ctx, llms.User("again "+evil)); err != nil {
		t.Fatal(err)
	}
}

// mute are the commands that print nothing of the record, or that speak to
// programs.
var mute = []string{
	"lcm db copy", // paths and digests
	"lcm demo", "lcm version", "lcm setup", "lcm mcp", "lcm engine", "lcm hook", "lcm statusline", "lcm map", "lcm db backup", "lcm db restore",
	"lcm completion", "lcm help", "lcm config", "lcm ui", "lcm team serve", "lcm team token add", "lcm team token revoke", "lcm sync",
}

// printing has what the others are called with, in such an order that what
// changes the record comes last. SUM, FILE and MSG stand for ids.
var printing = []string{
	"conversations", "undelete", "show 1", "show 1 --full", "show 2 --newest", "verify --all", "db status", "run --list", "context 1 --budget 4000", "show 1 --tree",
	"grep needle --all", "grep needle --all --mode full_text", "grep needle --context 3 --all", "describe MSG", "describe SUM", "describe FILE", "describe --expand SUM",
	"ask needle --all", "context --brief", "doctor", "forget 1 --dry-run", "forget --older-than 1d --dry-run", "compact 2 --budget 2000", "import transcript",
	"show 1 --raw", "describe MSG --raw", "describe FILE --raw", "describe SUM --raw", "describe --expand SUM --raw",
	"why transcript", "why transcript:1", "db export --raw -c 1", "team audit", "team token list",
	// What was typed, and files that are hostile, come back in errors.
	"show EVIL", "undelete EVIL", "describe EVIL", "grep EVIL(", "grep x --since EVIL", "verify EVIL", "why EVIL:1", "import EVIL", "EVIL",
}

// Whatever is stored, and whatever command prints it, a terminal has nothing to
// act upon: not on standard output, not on standard error, not as JSON.
func TestNoEscapeSequenceReachesATerminal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lcm.db")
	for key, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "LCM_DATABASE_PATH": path, "NO_COLOR": "1"} {
		t.Setenv(key, value)
	}
	t.Chdir(dir)
	if real, err := os.Getwd(); err == nil {
		dir = real
	}
	hostileDatabase(t, path, dir)
	transcript := filepath.Join(dir, "transcript")
	if err := os.WriteFile(transcript, []byte(`{"role":"user","content":"imported \u001b[31m"}`+"\n{\"role\":\"\x1b[31m\"}\nnot JSON "+evil+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ids := hostileIDs(t, path)
	tried := map[string]bool{}
	for _, line := range printing {
		args := strings.Fields(line)
		for n := 1; n <= min(3, len(args)); n++ {
			tried["lcm "+strings.Join(args[:n], " ")] = true
		}
		for i, a := range args {
			if id, ok := ids[strings.TrimRight(a, "(")]; ok {
				args[i] = strings.Replace(a, strings.TrimRight(a, "("), id, 1)
			}
		}
		for _, args := range [][]string{args, append(args[:len(args):len(args)], "--json")} {
			var out, errs bytes.Buffer
			a := newProgram(strings.NewReader(""), &out, &errs)
			a.terminal = true
			if code := run(t.Context(), a, args); code == exitUsage && !strings.Contains(line, "EVIL") && !strings.Contains(line, "--raw") {
				t.Errorf("lcm %q is not how it is called: %s", args, errs.String())
			}
			for name, text := range map[string]string{"output": out.String(), "errors": errs.String()} {
				if at := strings.IndexFunc(text, acts); at >= 0 {
					t.Errorf("lcm %q: %s has %q in %q", args, name, text[at:min(at+4, len(text))], text[max(0, at-60):min(len(text), at+20)])
				}
			}
			if out.Len()+errs.Len() == 0 {
				t.Errorf("lcm %q prints nothing", args)
			}
		}
	}
	for c := range leaves(newRoot(newProgram(nil, &bytes.Buffer{}, &bytes.Buffer{}))) {
		if !tried[c] && !slices.ContainsFunc(mute, func(m string) bool { return c == m || strings.HasPrefix(c, m+" ") }) {
			t.Errorf("%s is new: add it to printing, or to mute if it prints nothing of the record", c)
		}
	}
}

// leaves are the paths of the commands that have none below them.
func leaves(c *cobra.Command) iter.Seq[string] {
	return func(yield func(string) bool) {
		var walk func(*cobra.Command) bool
		walk = func(c *cobra.Command) bool {
			for _, sub := range c.Commands() {
				if !walk(sub) {
					return false
				}
			}
			return c.HasSubCommands() || yield(c.CommandPath())
		}
		walk(c)
	}
}

// acts reports whether a terminal would do something at a character other than
// show it.
func acts(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

func hostileIDs(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ids := map[string]string{"MSG": "msg_3", "EVIL": "x" + strings.ReplaceAll(evil, "\x00", "")}
	for s, err := range db.Summaries(t.Context(), store.SummaryQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids["SUM"] = string(s.ID)
	}
	attached, err := db.Attached(t.Context(), 4)
	if err != nil || len(attached) == 0 {
		t.Fatalf("the image is no payload: %v, %v", attached, err)
	}
	ids["FILE"] = string(attached[0])
	return ids
}

// JSON carries the stored text, whatever is escaped on the way.
func TestJSONIsNotChangedByWhatIsEscaped(t *testing.T) {
	var out bytes.Buffer
	a := newProgram(nil, &out, &out)
	if err := a.printJSON(map[string]string{"text": evil}); err != nil {
		t.Fatal(err)
	}
	if at := strings.IndexFunc(out.String(), acts); at >= 0 {
		t.Errorf("%q", out.String()[at:])
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != evil {
		t.Errorf("%q came back as %q, %v", evil, back["text"], err)
	}
}
