package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// oddNames are directory names that the system allows and that programs
// stumble over.
var oddNames = map[string]string{
	"space":          "Jane Doe",
	"percent":        "100%20 %2F %",
	"question mark":  "why? mode=ro&immutable=1",
	"number sign":    "c# #1",
	"plus":           "a+b",
	"ampersand":      "a&vfs=none&modeof=x",
	"single quote":   "it's",
	"double quote":   `say "hello"`,
	"backslash":      `back\slash\n`,
	"dollar":         "$HOME `id` $(id)",
	"unicode":        "Zoë 日本語 🦉 e\u0301",
	"newline":        "two\nlines",
	"tab":            "tab\there",
	"leading dash":   "-rf --db",
	"brackets":       "[a]{b}(c)*",
	"colon, equals":  "a:b=c;d,e",
	"trailing blank": "end ",
	"escape":         "\x1b[31mred",
}

// Every command works wherever the system lets a user keep his files: the
// home directory, the database, backups, the project, the hosts' settings and
// the program itself lie below directories with all odd names, and the settings of a host
// also below each of them.
func TestOddPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows allows none of these names")
	}
	for what, name := range oddNames {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			// Alone, because a host's settings are quoted for what the name has in it.
			newOddHome(t, filepath.Join(t.TempDir(), name)).settings()
		})
	}
	t.Run("all of them", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		for _, what := range slices.Sorted(maps.Keys(oddNames)) {
			top = filepath.Join(top, oddNames[what])
		}
		newOddHome(t, top).use("")
	})
	t.Run("very long", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		for len(top) < 700 {
			top = filepath.Join(top, strings.Repeat("long ", 20))
		}
		newOddHome(t, top).use("")
	})
	t.Run("too long for SQLite", func(t *testing.T) {
		t.Parallel()
		o := newOddHome(t, t.TempDir())
		for o.database = o.top; len(o.database) < 1100; {
			o.database = filepath.Join(o.database, strings.Repeat("x", 200))
		}
		for _, args := range [][]string{{"import", o.write(filepath.Join(o.top, "said.jsonl"), `{"role":"user","content":"x"}`)}, {"db", "backup", o.database}} {
			if got := o.fails(args...); !strings.Contains(got, "SQLite's driver allows 1015") || !strings.Contains(got, "hint: ") {
				t.Errorf("%s: %s", args[0], got)
			}
		}
	})
	t.Run("invalid UTF-8", func(t *testing.T) {
		t.Parallel()
		o := newOddHome(t, filepath.Join(t.TempDir(), "latin-\xe9"))
		o.record()
		// JSON and TOML hold no such text.
		settings := o.write(filepath.Join(o.home, ".claude", "settings.json"), "{}\n")
		if got := o.fails("setup", "claude", "--yes", "--binary", o.program); !strings.Contains(got, "not valid UTF-8") {
			t.Errorf("setup: %s", got)
		}
		if got, err := os.ReadFile(settings); err != nil || string(got) != "{}\n" {
			t.Errorf("setup left %q, %v", got, err)
		}
	})
	t.Run("relative", func(t *testing.T) {
		t.Parallel()
		newOddHome(t, t.TempDir()).use("../data dir/./x y.db")
	})
	t.Run("two slashes", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		newOddHome(t, top).use("//" + filepath.Join(top, "x.db"))
	})
	t.Run("symlinked directory", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		odd := newOddHome(t, filepath.Join(top, "real dir"))
		odd.link("real dir", filepath.Join(top, "a link"))
		odd.use(filepath.Join(top, "a link", "x.db"))
	})
	t.Run("symlinked file", func(t *testing.T) {
		t.Parallel()
		top := t.TempDir()
		odd := newOddHome(t, top)
		odd.link("where it is/x.db", filepath.Join(top, "a link.db"))
		odd.use(filepath.Join(top, "a link.db"))
	})
}

// oddHome is a user whose files lie in an odd place.
type oddHome struct {
	*testing.T
	top, home, project, program string
	database                    string // what LCM_DATABASE_PATH says, or ""
}

func newOddHome(t *testing.T, top string) *oddHome {
	o := &oddHome{T: t, top: top, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), program: filepath.Join(top, "bin", "lcm")}
	for _, dir := range []string{filepath.Join(o.home, ".claude"), filepath.Join(o.project, ".git"), filepath.Dir(o.program)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.link(self, o.program) // the tests' program is lcm under that name
	return o
}

func (o *oddHome) link(to, at string) {
	o.Helper()
	if err := os.Symlink(to, at); err != nil {
		o.Fatal(err)
	}
}

func (o *oddHome) write(path, content string) string {
	o.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		o.Fatal(err)
	}
	return path
}

// start runs a program in the project and returns its output.
func (o *oddHome) start(stdin, name string, args ...string) (string, error) {
	c := exec.CommandContext(o.Context(), name, args...)
	c.Dir, c.Stdin = o.project, strings.NewReader(stdin)
	c.Env = []string{"HOME=" + o.home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	if o.database != "" {
		c.Env = append(c.Env, "LCM_DATABASE_PATH="+o.database)
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

func (o *oddHome) run(stdin, name string, args ...string) string {
	o.Helper()
	out, err := o.start(stdin, name, args...)
	if err != nil {
		o.Fatalf("%q: %v\n%s", args, err, out)
	}
	return out
}

// fails runs lcm and returns its error.
func (o *oddHome) fails(args ...string) string {
	o.Helper()
	out, err := o.start("", o.program, args...)
	if err == nil {
		o.Errorf("%q succeeds:\n%s", args, out)
	}
	return out
}

func (o *oddHome) lcm(args ...string) string {
	o.Helper()
	return o.run("", o.program, args...)
}

func (o *oddHome) found(text string) {
	o.Helper()
	if got := o.lcm("grep", text); !strings.Contains(got, text) {
		o.Errorf("%q is not found from %q:\n%s", text, o.project, got)
	}
}

func (o *oddHome) use(database string) {
	o.database = database
	o.record()
	o.settings()
}

// record stores, searches, copies and checks.
func (o *oddHome) record() {
	o.Helper()
	transcript := o.write(filepath.Join(o.top, "said.jsonl"), `{"role":"user","content":"the word is marmalade"}`+"\n")
	o.lcm("import", transcript)
	o.found("marmalade")
	backup := filepath.Join(o.top, "a backup.db")
	o.lcm("db", "backup", backup)
	o.lcm("db", "restore", backup, "--force")
	archive := filepath.Join(o.top, "all.tar.zst")
	o.lcm("db", "export", archive)
	o.lcm("import", archive)
	o.found("marmalade")
	if got := o.lcm("doctor"); strings.Contains(got, "problem") { // that no agent is connected is a warning
		o.Errorf("doctor: %s", got)
	}
}

// settings sets a host up, and runs the commands in its settings as the host would.
func (o *oddHome) settings() {
	o.Helper()
	const before = "{\"theme\": \"dark\"}\n"
	settings := o.write(filepath.Join(o.home, ".claude", "settings.json"), before)
	o.lcm("setup", "claude", "--yes", "--binary", o.program)
	o.lcm("setup", "claude", "--yes", "--binary", o.program)
	written, err := os.ReadFile(settings)
	if err != nil {
		o.Fatal(err)
	}
	commands := hookCommands(o.T, written)
	if len(commands) == 0 {
		o.Fatalf("no hook was written: %s", written)
	}
	session := o.write(filepath.Join(o.home, ".claude", "projects", "p", "s1.jsonl"),
		`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":`+quoteJSON(o.T, o.project)+`,"message":{"role":"user","content":"and tangerine"}}`+"\n")
	event := `{"hook_event_name":"Stop","session_id":"s1","cwd":` + quoteJSON(o.T, o.project) + `,"transcript_path":` + quoteJSON(o.T, session) + `}`
	o.run(event, "sh", "-c", commands[0])
	o.found("tangerine")
	o.lcm("setup", "--remove", "claude", "--yes")
	if after, err := os.ReadFile(settings); err != nil || !bytes.Equal(after, []byte(before)) {
		o.Errorf("after remove: %q, %v", after, err)
	}
}

func quoteJSON(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// hookCommands lists the commands of the hooks in a host's settings.
func hookCommands(t *testing.T, settings []byte) []string {
	t.Helper()
	var v struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	if err := json.Unmarshal(settings, &v); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, group := range v.Hooks["Stop"] {
		for _, h := range group.Hooks {
			commands = append(commands, h.Command)
		}
	}
	return commands
}
