package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// pair is two machines that reach each other over a real sshd: two homes on this one.
type pair struct {
	t       *testing.T
	program string
	dir     string
	rand    *rand.Rand
	said    int
	gone    []string // texts that were forgotten
}

// The names of the machines.
var machines = []string{"laptop", "desktop"}

// newPair starts an sshd on the loopback interface. The key that a client uses says whose home
// its command gets.
func newPair(t *testing.T) *pair {
	t.Helper()
	sshd := "/usr/sbin/sshd"
	for _, program := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (apt-get install openssh-server openssh-client): the sync of two machines is not tested over it", program)
		}
	}
	program, err := exec.LookPath("lcm") // testscript puts this test's own binary there
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, program: program, dir: t.TempDir(), rand: rand.New(rand.NewPCG(31, 50))}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	if os.Getuid() == 0 {
		_ = os.Mkdir("/run/sshd", 0o755) // sshd says what is missing
	}
	var keys, hosts strings.Builder
	p.keygen("hostkey")
	for _, m := range machines {
		p.keygen("key-" + m)
		public, err := os.ReadFile(p.path("key-" + m + ".pub"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&keys, "command=\"%s %s\" %s", p.path("started"), m, public)
		fmt.Fprintf(&hosts, "Host %s\n  IdentityFile %s\n", m, p.path("key-"+m))
	}
	p.write("authorized_keys", 0o600, keys.String())
	p.write("ssh_config", 0o600, hosts.String()+fmt.Sprintf("Host *\n  HostName 127.0.0.1\n  Port %s\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile %s\n  LogLevel ERROR\n", port, p.path("known")))
	p.write("sshd_config", 0o600, fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPermitRootLogin yes\nStrictModes no\nPasswordAuthentication no\nUsePAM no\nPidFile none\nMaxStartups 100\n",
		port, p.path("hostkey"), p.path("authorized_keys")))
	// The shells become lcm and ssh: their numbers are those of the processes to kill.
	p.write("started", 0o755, fmt.Sprintf("#!/bin/sh\necho $$ > %s/remote-pid\nexport %s\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n", p.dir, strings.Join(p.environment("$1"), " ")))
	p.write("bin/ssh", 0o755, fmt.Sprintf("#!/bin/sh\necho $$ > %s/ssh-pid\nexec /usr/bin/ssh -F %s \"$@\"\n", p.dir, p.path("ssh_config")))
	server := exec.Command(sshd, "-D", "-f", p.path("sshd_config"), "-E", p.path("sshd.log"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			return p
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(p.path("sshd.log"))
			t.Skipf("sshd does not start here: %s", log)
		}
	}
}

func (p *pair) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pair) keygen(name string) {
	p.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", p.path(name)).CombinedOutput(); err != nil {
		p.t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

func (p *pair) write(name string, mode os.FileMode, text string) {
	p.t.Helper()
	err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700)
	if err == nil {
		err = os.WriteFile(p.path(name), []byte(text), mode)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// environment is that of a machine. Each has a home of its own.
func (p *pair) environment(machine string) []string {
	return []string{"HOME=" + p.path("home-"+machine), "LCM_SYNC_MACHINE=" + machine, "PATH=" + p.path("bin") + ":" + filepath.Dir(p.program) + ":/usr/bin:/bin"}
}

func (p *pair) command(machine string, args ...string) *exec.Cmd {
	c := exec.Command(p.program, args...)
	c.Dir, c.Env = p.dir, p.environment(machine)
	return c
}

func (p *pair) run(machine string, args ...string) string {
	p.t.Helper()
	c := p.command(machine, args...)
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		p.t.Fatalf("%s: lcm %v: %v\n%s%s", machine, args, err, &out, &problems)
	}
	return out.String()
}

func other(machine string) string { return machines[1-slices.Index(machines, machine)] }

// say adds messages to a session of Claude Code, and one without an id to a file of messages.
func (p *pair) say(machine string, n int) {
	p.t.Helper()
	session := fmt.Sprintf("%s-%d", machine, p.rand.IntN(8))
	dir := p.path("of-" + machine)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	add := func(name string, line any) {
		text, err := json.Marshal(line)
		if err != nil {
			p.t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(append(text, '\n'))
			f.Close()
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	for range n {
		p.said++
		text := fmt.Sprintf("m%d. is said on the %s", p.said, machine)
		if p.said%7 == 0 {
			text += " with AKIAQ3EGUZZ5X7T2LMN4"
		}
		add(session+".jsonl", map[string]any{
			"type": "user", "uuid": fmt.Sprint("u", p.said), "sessionId": session, "cwd": p.dir, "version": "2.1.0",
			"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "message": map[string]any{"role": "user", "content": text},
		})
	}
	p.said++
	add("plain.jsonl", map[string]any{"role": "user", "content": fmt.Sprintf("m%d. is said without an id", p.said)})
	p.run(machine, "import", filepath.Join(dir, session+".jsonl"))
	p.run(machine, "import", filepath.Join(dir, "plain.jsonl"))
}

// forget forgets one message that was said, wherever that was.
func (p *pair) forget(machine string) {
	text := fmt.Sprintf("m%d.", 1+p.rand.IntN(p.said))
	out, err := p.command(machine, "forget", "--match", `\b`+strings.ReplaceAll(text, ".", `\. `), "--yes").CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("tombstone")):
		p.gone = append(p.gone, text)
	case !bytes.Contains(out, []byte("nothing")): // it has not come here yet
		p.t.Fatalf("forget: %v: %s", err, out)
	}
}

// kill kills the process whose number is in a file.
func (p *pair) kill(file string) {
	text, err := os.ReadFile(p.path(file))
	if err != nil {
		return // it has not started
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

// cutOff starts a sync and kills one of its processes: lcm here, ssh, or lcm there. It reports
// whether the sync was cut off by it.
func (p *pair) cutOff(machine string, within time.Duration) bool {
	for _, name := range []string{"remote-pid", "ssh-pid"} {
		_ = os.Remove(p.path(name))
	}
	c := p.command(machine, "sync", "ssh://"+other(machine))
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := p.wait(c)
	for i := 0; i < 1000 && len(ended) == 0; i++ { // until lcm has started there
		if _, err := os.Stat(p.path("remote-pid")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Duration(p.rand.Int64N(int64(within))))
	switch p.rand.IntN(3) {
	case 0:
		_ = c.Process.Kill()
	case 1:
		p.kill("ssh-pid")
	case 2:
		p.kill("remote-pid")
	}
	return p.result(ended) != nil
}

// wait waits for a command in the background.
func (p *pair) wait(c *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	return ended
}

// result returns the result of a sync that must end soon.
func (p *pair) result(ended <-chan error) error {
	p.t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * time.Minute):
		p.t.Fatal("a sync does not end")
		return nil
	}
}

// check counts what was said on a machine: messages that are lost, and that are there twice.
func (p *pair) check(machine string) (lost, doubled int) {
	t := p.t
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(p.path("home-"+machine), ".local", "share", "lcm", "lcm.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range list {
		for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			word, _, _ := strings.Cut(m.Body.Render(), " ")
			seen[word]++
		}
	}
	for i := range p.said {
		text := fmt.Sprintf("m%d.", i+1)
		switch n := seen[text]; {
		case n > 0 && slices.Contains(p.gone, text):
			t.Errorf("%s still has %s, which was forgotten", machine, text)
		case n == 0 && !slices.Contains(p.gone, text):
			lost++
			t.Errorf("%s has lost %s", machine, text)
		case n > 1:
			doubled += n - 1
			t.Errorf("%s has %s %d times", machine, text, n)
		}
	}
	return lost, doubled
}

// Two machines exchange messages over ssh while either end is killed at random points, and while
// more is said and forgotten. In the end both have every message once.
func TestTwoMachinesOverSSH_Long(t *testing.T) {
	p := newPair(t)
	for range 10 {
		for _, m := range machines {
			p.say(m, 100)
		}
	}
	cuts, syncs := 0, 0
	within := 3 * time.Second
	for cuts < 55 {
		if syncs++; syncs > 300 {
			t.Fatalf("only %d of %d syncs were cut off", cuts, syncs)
		}
		for _, m := range machines {
			p.say(m, 1+p.rand.IntN(20))
		}
		caller := machines[p.rand.IntN(2)]
		if p.rand.IntN(4) == 0 {
			p.forget(machines[p.rand.IntN(2)])
		}
		var second <-chan error
		if p.rand.IntN(4) == 0 { // both call each other at a time
			c := p.command(other(caller), "sync", "ssh://"+caller)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			second = p.wait(c)
		}
		cut := p.cutOff(caller, within)
		if second != nil {
			_ = p.result(second) // it may have been the one that was killed
		}
		if cut {
			cuts++
		} else {
			within = max(100*time.Millisecond, within*8/10) // it was too late
		}
	}
	for _, m := range []string{"laptop", "desktop", "laptop"} {
		p.run(m, "sync", "ssh://"+other(m))
	}
	lost, doubled := 0, 0
	for _, m := range machines {
		l, d := p.check(m)
		lost, doubled = lost+l, doubled+d
		if out := p.run(m, "sync", "--verify", "ssh://"+other(m)); strings.Count(out, "agree") != 2 {
			t.Errorf("%s: %s", m, out)
		}
		p.run(m, "verify", "--all")
		p.run(m, "doctor")
	}
	t.Logf("%d syncs, %d of them cut off by a kill, %d messages said, %d forgotten: %d lost, %d doubled", syncs, cuts, p.said, len(p.gone), lost, doubled)
}
