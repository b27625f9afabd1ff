package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/llms"
)

// team is a server and two laptops, each a process of its own, with a wire between them
// that keeps everything that was sent.
type team struct {
	t       *testing.T
	program string
	dir     string
	rand    *rand.Rand
	server  *exec.Cmd
	address string
	wire    *wiretap
	tokens  map[string]string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	tm := &team{t: t, program: program, dir: t.TempDir(), rand: rand.New(rand.NewPCG(20, 4)), tokens: map[string]string{}}
	for name, origin := range map[string]string{"app": "https://github.com/acme/app.git", "hidden": "https://github.com/acme/hidden.git", "ignored": "https://github.com/acme/ignored.git"} {
		dir := filepath.Join(tm.dir, name, ".git")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"config": "[remote \"origin\"]\n\turl = " + origin + "\n", "HEAD": "ref: refs/heads/main\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tm.wire = newWiretap(t, rand.New(rand.NewPCG(4, 20)))
	for user, flags := range map[string][]string{"alice": {"--append", "--erase"}, "bob": {"--append"}} {
		out := tm.run("server", nil, append([]string{"team", "token", "add", "--user", user, "--project", "github.com/acme/*"}, flags...)...)
		tm.tokens[user] = strings.TrimSpace(out)
	}
	tm.startServer()
	t.Cleanup(tm.stopServer)
	return tm
}

// command returns a process of a machine.
func (tm *team) command(machine string, env []string, args ...string) *exec.Cmd {
	home := filepath.Join(tm.dir, "home-"+machine)
	if err := os.MkdirAll(home, 0o700); err != nil {
		tm.t.Fatal(err)
	}
	c := exec.Command(tm.program, append(args, "--db", filepath.Join(home, "lcm.db"))...)
	c.Dir = filepath.Join(tm.dir, "app")
	user := map[string]string{"laptop1": "alice", "laptop2": "alice", "laptop3": "bob"}[machine]
	c.Env = append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LCM_SYNC_URL=" + tm.wire.URL, "LCM_SYNC_TOKEN=" + tm.tokens[user],
		"LCM_SYNC_MACHINE=" + machine, "LCM_SYNC_PRIVATE_PROJECT_PATTERNS=" + filepath.Join(tm.dir, "hidden"),
	}, env...)
	return c
}

// run runs a command that has to succeed, and returns its output.
func (tm *team) run(machine string, env []string, args ...string) string {
	tm.t.Helper()
	c := tm.command(machine, env, args...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		tm.t.Fatalf("%s: lcm %v: %v\n%s%s", machine, args, err, &out, &problems)
	}
	return out.String()
}

func (tm *team) startServer() {
	tm.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tm.t.Fatal(err)
	}
	tm.address = l.Addr().String()
	l.Close()
	tm.server = tm.command("server", nil, "team", "serve", "--http", tm.address, "--fold-every", "50ms")
	if err := tm.server.Start(); err != nil {
		tm.t.Fatal(err)
	}
	tm.wire.mu.Lock()
	tm.wire.target = tm.address
	tm.wire.mu.Unlock()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got, err := http.Get("http://" + tm.address + "/readyz")
		if err == nil {
			got.Body.Close()
			if got.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			tm.t.Fatal("the server does not get ready")
		}
	}
}

// stopServer kills the server without a warning.
func (tm *team) stopServer() {
	if tm.server != nil {
		_ = tm.server.Process.Kill()
		_ = tm.server.Wait()
		tm.server = nil
	}
}

// transcript writes the first messages of a Claude Code session. Its clock is off by skew.
func (tm *team) transcript(machine, session, project string, messages int, skew time.Duration, text func(i int) string) string {
	tm.t.Helper()
	path := filepath.Join(tm.dir, "of-"+machine, session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tm.t.Fatal(err)
	}
	var b bytes.Buffer
	parent := any(nil)
	for i := range messages {
		id := fmt.Sprintf("%s-%04d", session, i)
		role := []string{"user", "assistant"}[i%2]
		line, err := json.Marshal(map[string]any{
			"type": role, "uuid": id, "parentUuid": parent, "sessionId": session, "cwd": filepath.Join(tm.dir, project), "version": "2.1.0",
			"timestamp": time.Now().Add(skew - time.Hour + time.Duration(i)*time.Second).UTC().Truncate(time.Minute).Add(time.Duration(i) * time.Millisecond).Format("2006-01-02T15:04:05.000Z"),
			"message":   map[string]any{"role": role, "content": text(i)},
		})
		if err != nil {
			tm.t.Fatal(err)
		}
		b.Write(append(line, '\n'))
		parent = id
	}
	// A longer transcript begins as the shorter one did: lines that were written stay.
	old, err := os.ReadFile(path)
	if err == nil {
		lines := bytes.SplitAfter(b.Bytes(), []byte("\n"))
		have := bytes.Count(old, []byte("\n"))
		b.Reset()
		b.Write(old)
		for _, l := range lines[min(have, len(lines)):] {
			b.Write(l)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		tm.t.Fatal(err)
	}
	return path
}

// said returns the text of a message with things that must stay on the machine.
func said(session string, i int) string {
	text := fmt.Sprintf("%s says number %d-%s", session, i, strings.Repeat("word ", 10))
	switch i % 5 {
	case 1:
		text += " for <private>customer blockword7391</private> today"
	case 3:
		text += " with aws_access_key_id = AKIAQ3EGUZZ5X7T2LMN4 here"
	}
	return text
}

// Two laptops push to a server while all three are killed, requests are cut off and the
// network is away. In the end the server has every message once, and nothing private was
// sent.
func TestTwoLaptopsAndAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts some hundred processes")
	}
	t.Parallel() // it waits for processes and for the network
	tm := newTeam(t)
	secretless := []string{"LCM_IGNORE_PROJECT_PATTERNS=" + filepath.Join(tm.dir, "ignored")}
	skews := map[string]time.Duration{"laptop1": -5 * time.Hour, "laptop2": 3 * time.Hour}
	oldRecord(t, filepath.Join(tm.dir, "home-laptop1"), filepath.Join(tm.dir, "app"))
	const rounds = 6
	killed := 0
	for round := 1; round <= rounds; round++ {
		for machine, skew := range skews {
			own := "own-" + machine
			// The same session on both machines; the second is behind.
			n := round * 6
			if machine == "laptop2" {
				n -= 5
			}
			shared := tm.transcript("shared", "shared", "app", rounds*6, 0, func(i int) string { return said("shared", i) })
			tm.run(machine, nil, "import",
				tm.transcript(machine, own, "app", round*7, skew, func(i int) string { return said(own, i) }),
				tm.head(shared, machine, n),
				tm.transcript(machine, "hid-"+machine, "hidden", round*2, skew, func(i int) string { return fmt.Sprint("hiddenproject5512 ", i) }),
				// It is stored while it is not ignored yet.
				tm.transcript(machine, "ign-"+machine, "ignored", round*2, skew, func(i int) string { return fmt.Sprint("ignoredproject8843 ", i) }))
		}
		offline := round%4 == 0
		if offline {
			tm.stopServer()
		}
		tm.wire.mu.Lock()
		tm.wire.cut = 0.3
		tm.wire.mu.Unlock()
		var pushes []*exec.Cmd
		for machine := range skews {
			c := tm.command(machine, secretless, "sync")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			pushes = append(pushes, c)
		}
		time.Sleep(time.Duration(tm.rand.IntN(400)) * time.Millisecond)
		switch {
		case offline:
		case round%2 == 0:
			tm.stopServer()
		default:
			_ = pushes[tm.rand.IntN(2)].Process.Kill()
		}
		killed++
		for _, c := range pushes {
			_ = c.Wait()
		}
		if tm.server == nil {
			tm.startServer()
		}
	}
	tm.wire.mu.Lock()
	tm.wire.cut = 0
	tm.wire.mu.Unlock()
	for machine := range skews {
		tm.run(machine, secretless, "sync")
		if out := tm.run(machine, secretless, "sync", "--json"); !strings.Contains(out, `"messages": 0`) {
			t.Errorf("%s pushes again: %s", machine, out)
		}
		out := tm.run(machine, secretless, "sync", "--verify")
		if !strings.Contains(out, "agree with the server") {
			t.Errorf("%s: %s", machine, out)
		}
	}
	t.Logf("%d rounds, %d kills or absences, %d bytes on the wire", rounds, killed, tm.wire.sent.Len())
	tm.checkServer(rounds)
	tm.checkWire()
	tm.checkSearch()
	tm.checkForgetting(secretless)
}

// head writes the first lines of a transcript as the file of a machine.
func (tm *team) head(path, machine string, lines int) string {
	tm.t.Helper()
	all, err := os.ReadFile(path)
	if err != nil {
		tm.t.Fatal(err)
	}
	split := bytes.SplitAfter(all, []byte("\n"))
	dir := filepath.Join(tm.dir, "of-"+machine)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tm.t.Fatal(err)
	}
	out := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(out, bytes.Join(split[:min(lines, len(split))], nil), 0o600); err != nil {
		tm.t.Fatal(err)
	}
	return out
}

// oldRecord stores a message with a private block as an older program might have: the
// push must not rely on ingest.
func oldRecord(t *testing.T, home, project string) {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(home, "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Open(t.Context(), store.NewConversation{Key: "old:1", Project: store.Project{Origin: "github.com/acme/app", Root: project}, Title: "about <private>blockword7391</private>"})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		for _, text := range []string{"an old record with <private>blockword7391</private> in it", "and AKIAQ3EGUZZ5X7T2LMN4"} {
			m := store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text))}
			if _, err := w.Append(t.Context(), m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkServer checks that the server has every message once.
func (tm *team) checkServer(rounds int) {
	t := tm.t
	t.Helper()
	tm.run("server", nil, "verify", "--all")
	db := tm.openServer()
	defer db.Close()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, c := range list {
		got[c.Key] = c.Messages
		if !strings.Contains(c.Agent, "alice@laptop") {
			t.Errorf("%s is of %q", c.Key, c.Agent)
		}
		seen := map[string]bool{}
		for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[m.Native] || m.Flags&store.FlagDuplicate != 0 {
				t.Errorf("%s has %s twice", c.Key, m.Native)
			}
			seen[m.Native] = true
		}
	}
	want := map[string]int64{"alice/claude:own-laptop1": int64(rounds * 7), "alice/claude:own-laptop2": int64(rounds * 7), "alice/claude:shared": int64(rounds * 6), "alice/old:1": 2}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the server has %v, want %v", got, want)
	}
}

func (tm *team) openServer() *sqlite.DB {
	tm.t.Helper()
	db, err := sqlite.Open(tm.t.Context(), filepath.Join(tm.dir, "home-server", "lcm.db"), sqlite.Options{})
	if err != nil {
		tm.t.Fatal(err)
	}
	return db
}

// checkSearch searches the server from a laptop. The answer says who said it.
func (tm *team) checkSearch() {
	tm.t.Helper()
	out := tm.run("laptop1", nil, "grep", "--team", "own-laptop2 says number 4-")
	if !strings.Contains(out, "alice@laptop2") {
		tm.t.Errorf("grep --team: %s", out)
	}
	id := regexp.MustCompile(`msg_\d+`).FindString(out)
	for _, args := range [][]string{{"describe", "--team", id}, {"describe", "--team", id, "--json"}} {
		if out := tm.run("laptop1", nil, args...); !strings.Contains(out, "own-laptop2 says number 4-") {
			tm.t.Errorf("%v: %s", args, out)
		}
	}
	if out := tm.run("laptop2", nil, "ask", "--team", "what says own-laptop1 number 4?"); !strings.Contains(out, "alice@laptop1") {
		tm.t.Errorf("ask --team: %s", out)
	}
}

// checkForgetting forgets messages on laptops: they go from the server if the token may
// erase, and stay with a warning if not.
func (tm *team) checkForgetting(env []string) {
	t := tm.t
	t.Helper()
	tm.run("laptop1", env, "forget", "--match", "own-laptop1 says number 6-", "--yes")
	if out := tm.run("laptop1", env, "sync"); !strings.Contains(out, "erased 1 message on the server") {
		t.Errorf("the erasure: %s", out)
	}
	tm.run("laptop1", env, "sync", "--verify")
	tm.stopServer()
	files, err := filepath.Glob(filepath.Join(tm.dir, "home-server", "lcm.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || bytes.Contains(b, []byte("own-laptop1 says number 6-")) {
			t.Errorf("%s still has it: %v", f, err)
		}
	}
	db := tm.openServer()
	rows, err := access.Audit{State: db}.List(t.Context())
	if err != nil || len(rows) == 0 || rows[0].Action != "erase" || !strings.Contains(rows[0].Who, "alice") {
		t.Errorf("audit: %+v, %v", rows, err)
	}
	db.Close()
	tm.startServer()

	tm.run("laptop3", env, "import", tm.transcript("laptop3", "own-laptop3", "app", 6, 0, func(i int) string { return said("own-laptop3", i) }))
	tm.run("laptop3", env, "sync")
	tm.run("laptop3", env, "forget", "--match", "own-laptop3 says number 2-", "--yes")
	c := tm.command("laptop3", env, "sync")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the token may not erase") {
		t.Errorf("without the right to erase: %s, %v", out, err)
	}
	if out := tm.run("laptop3", env, "grep", "--team", "own-laptop3 says number 2-"); !strings.Contains(out, "bob@laptop3") {
		t.Errorf("it is gone: %s", out)
	}
}

// A graceful end of the server lets it answer, and exits with 0.
func TestServeEndsWhenInterrupted(t *testing.T) {
	tm := newTeam(t)
	if err := tm.server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- tm.server.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-done:
		tm.server = nil
	case <-ctx.Done():
		t.Fatal("it does not end")
	}
	oldRecord(t, filepath.Join(tm.dir, "home-laptop1"), filepath.Join(tm.dir, "app"))
	c := tm.command("laptop1", nil, "sync")
	out, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot be reached") || strings.Contains(string(out), tm.tokens["alice"]) {
		t.Errorf("sync without a server: %s, %v", out, err)
	}
}
