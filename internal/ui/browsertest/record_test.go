package browsertest

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// record is a database and a server on it.
type record struct {
	t    *testing.T
	db   string
	home string
	link string // works once
	base string
}

// command returns a command of the program on the database.
func (r *record) command(args ...string) *exec.Cmd {
	r.t.Helper()
	c := exec.CommandContext(context.WithoutCancel(r.t.Context()), env(r.t, "LCM_BIN"), append([]string{"--db", r.db}, args...)...)
	c.Env, c.Dir = append(os.Environ(), "HOME="+r.home), r.home
	return c
}

// lcm runs the program on the database.
func (r *record) lcm(args ...string) {
	r.t.Helper()
	if out, err := r.command(args...).CombinedOutput(); err != nil {
		r.t.Fatalf("lcm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// empty is a record without sessions.
func empty(t *testing.T) *record {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trackd") // which names the project
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &record{t: t, db: filepath.Join(dir, "lcm.db"), home: dir}
}

// serve imports transcripts, folds them and starts `lcm ui`.
func serve(t *testing.T, transcripts ...string) *record {
	t.Helper()
	r := empty(t)
	for i, path := range transcripts {
		r.lcm("import", path)
		r.lcm("compact", fmt.Sprint(i+1), "--budget", "16000")
	}
	r.start()
	return r
}

// start starts `lcm ui`, until the end of the test.
func (r *record) start() {
	r.t.Helper()
	c := r.command("ui", "--no-open")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	r.link = strings.TrimSpace(line)
	u, err := url.Parse(r.link)
	if err != nil {
		r.t.Fatal(err)
	}
	r.base = "http://" + u.Host
}

// sample returns the path of the bundled session.
func sample() string {
	path, err := filepath.Abs(filepath.Join("..", "..", "proof", "sample", "session.jsonl"))
	if err != nil {
		panic(err)
	}
	return path
}

// sessions opens the bundled session in a browser.
func sessions(t *testing.T) *browser { t.Helper(); return open(serve(t, sample())) }

// session is what a test needs to know of a record with one session.
type session struct {
	messages int64
	at       int64  // a message with many before and after it
	word     string // that users and assistants said
	more     string // a second one
}

// onEach runs a test on the bundled session and on a generated one.
func onEach(t *testing.T, test func(t *testing.T, b *browser, s session)) {
	t.Run("bundled", func(t *testing.T) {
		test(t, sessions(t), session{563, 400, "interval", "seconds"})
	})
	t.Run("generated", func(t *testing.T) {
		r := &record{t: t, db: env(t, "UI_RECORD"), home: t.TempDir()}
		r.start()
		b := open(r)
		count := eval[int64](b, `fetch('/api/session/1').then(r => r.json()).then(d => d.session.messages)`)
		test(t, b, session{count, count * 7 / 10, "migration", "parcel"})
	})
}
