package cli

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	_ "time/tzdata" // scripts set TZ, also where no zones are installed

	"github.com/charmbracelet/x/ansi"
	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lossless-context/lcm/internal/proof/sample"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") && len(os.Args) > 1 && os.Args[1] == "hook" {
		// A test that ran a command in this process had it start the
		// background process: that is this program, and would run all tests
		// again.
		os.Exit(0)
	}
	testscript.Main(m, map[string]func(){
		"lcm":      main,
		"full-lcm": mainOnFullDisk,
		"tamper":   tamper,
		"pragma":   pragma,
		"sample":   writeSample,
		"hold":     hold,
		"rot":      rot,

		"scratch": scratch,
		"sql":     runSQL,
		"shorten": shorten,
		"flip":    flip,
		"widest":  widest,
		"long":    writeLong,
		"await":   await,
		"killed":  killed,
		"install": install,
	})
}

// TestScripts drives the real program: each script is a session of a user.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			for _, dir := range []string{"home", "project"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o700); err != nil {
					return err
				}
			}
			e.Cd = filepath.Join(e.WorkDir, "project")
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("LCM_DATABASE_PATH", filepath.Join(e.WorkDir, "lcm.db"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("TZ", "UTC")
			e.Setenv("REPO", repo)
			return nil
		},
	})
}

// writeSample writes messages of the bundled session: sample FILE FROM TO.
func writeSample() {
	lines := bytes.SplitAfter(sample.JSONL(), []byte("\n"))
	from, to := argument(2), argument(3)
	check(os.WriteFile(os.Args[1], bytes.Join(lines[from-1:to], nil), 0o600))
}

// install makes the home that the program of the version before left: settings, hooks and sessions of five
// agents, and a database.
func install() {
	home, repo := os.Getenv("HOME"), os.Getenv("REPO")
	check(os.CopyFS(home, os.DirFS(filepath.Join(repo, "internal", "cli", "testdata", "installed"))))
	receipts := filepath.Join(home, ".local", "share", "lcm", "setup", "receipts.json")
	data, err := os.ReadFile(receipts)
	check(err)
	check(os.WriteFile(receipts, bytes.ReplaceAll(data, []byte("/home/user"), []byte(filepath.ToSlash(home))), 0o600))
	data, err = os.ReadFile(filepath.Join(repo, "internal", "record", "sqlite", "testdata", "v10.db"))
	check(err)
	check(os.WriteFile(filepath.Join(home, ".local", "share", "lcm", "lcm.db"), data, 0o600))
}

// tamper changes bytes of a file behind everyone's back: tamper FILE OLD NEW.
func tamper() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	old, new := []byte(os.Args[2]), []byte(os.Args[3])
	if len(old) != len(new) || !bytes.Contains(data, old) {
		check(fmt.Errorf("%q is not there, or its replacement has another length", old))
	}
	check(os.WriteFile(os.Args[1], bytes.ReplaceAll(data, old, new), 0o600))
}

// pragma runs a pragma on a database: pragma FILE TEXT.
func pragma() {
	db, err := sqlite3.Open(os.Args[1])
	check(err)
	check(db.Exec("PRAGMA " + os.Args[2]))
	check(db.Close())
}

// hold runs a command while another process, this one, is writing to a
// database: hold FILE COMMAND ARGUMENT….
func hold() {
	db, err := sqlite3.Open(os.Args[1])
	check(err)
	_, err = db.BeginImmediate()
	check(err)
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	err = c.Run()
	runtime.KeepAlive(db) // collecting it would close its file, and release the lock
	if err != nil {
		os.Exit(c.ProcessState.ExitCode())
	}
}

// rot overwrites the second half of a file: rot FILE.
func rot() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	for i := len(data) / 2; i < len(data); i++ {
		data[i] = 0x5a
	}
	check(os.WriteFile(os.Args[1], data, 0o600))
}

// scratch makes the page of a database that holds a text unreadable, or exchanges it with
// the page of another text: scratch FILE TEXT [OTHER].
func scratch() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	page := func(text string) []byte {
		at := bytes.Index(data, []byte(text))
		if at < 0 {
			check(fmt.Errorf("%q is not there", text))
		}
		return data[at-at%4096:][:4096]
	}
	one, other := page(os.Args[2]), bytes.Repeat([]byte{0x5a}, 4096)
	if len(os.Args) > 3 {
		other = page(os.Args[3])
	}
	kept := bytes.Clone(one)
	copy(one, other)
	copy(other, kept)
	check(os.WriteFile(os.Args[1], data, 0o600))
}

// widest prints the width of the widest line of a file on a terminal: widest
// FILE.
func widest() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	most := 0
	for line := range strings.Lines(string(data)) {
		most = max(most, ansi.StringWidth(strings.TrimRight(line, "\n")))
	}
	fmt.Println(most)
}

func argument(i int) int {
	n, err := strconv.Atoi(os.Args[i])
	check(err)
	return n
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() { os.Exit(Main(context.Background(), "dev", "")) }
