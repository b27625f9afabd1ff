package peersync

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os/exec"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// The forms of the parts of an address. None begins with a dash, and none has a sign that
// a shell reads: ssh passes host and user on to the commands of its settings.
var (
	hostForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$|^[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*$`)
	userForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	pathForm = lazyregexp.New(`^[A-Za-z0-9_./~][A-Za-z0-9_./:+~-]*$`)
)

// remote starts lcm at the other end. The shell that ssh starts there often has a shorter PATH than
// one that a person works in.
const remote = `exec sh -c 'PATH="$PATH:$HOME/.local/bin:$HOME/go/bin:$HOME/bin:/usr/local/bin:/opt/homebrew/bin" exec lcm sync --stdio'`

// Command returns the ssh command that starts lcm on another machine. path names lcm there;
// empty looks for it. With quiet, ssh asks nothing.
func Command(ctx context.Context, address, path string, quiet bool) (*exec.Cmd, error) {
	u, err := url.Parse(address)
	if err != nil || teamsync.PeerScheme != u.Scheme+"://" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || !hostForm().MatchString(u.Hostname()) {
		return nil, hint.New("it looks like ssh://host or ssh://user@host:port; what ssh itself needs is in ~/.ssh/config", "%q is no address of a machine", prose.Clip(address, 80))
	}
	args := []string{"-T", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=30"}
	if quiet {
		args = append(args, "-o", "BatchMode=yes")
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	if u.User != nil {
		_, password := u.User.Password()
		if password || !userForm().MatchString(u.User.Username()) {
			return nil, hint.New("ssh asks for a password itself", "%q cannot name a user", prose.Clip(u.User.Username(), 80))
		}
		args = append(args, "-l", u.User.Username())
	}
	command := remote
	if path != "" {
		if !pathForm().MatchString(path) {
			return nil, hint.New("it may have letters, digits and . / _ - + : ~", "%q cannot be the path of lcm on the other machine", prose.Clip(path, 80))
		}
		command = path + " sync --stdio"
	}
	return exec.CommandContext(ctx, "ssh", append(args, "--", u.Hostname(), command)...), nil
}

// endTime is how long a program may take to end after the exchange.
const endTime = 5 * time.Second

// Run exchanges messages with the machine that a command of [Command] reaches.
func (s Side) Run(ctx context.Context, ssh *exec.Cmd, url string, verify bool) (other Hello, mine, theirs Outcome, err error) {
	in, err := ssh.StdinPipe()
	if err != nil {
		return other, mine, theirs, err
	}
	r, w := io.Pipe()
	ssh.Stdout = w
	if err := ssh.Start(); errors.Is(err, exec.ErrNotFound) {
		return other, mine, theirs, hint.New("install the client of OpenSSH", "there is no program ssh on this machine")
	} else if err != nil {
		return other, mine, theirs, err
	}
	ended := make(chan struct{})
	go func() {
		_ = ssh.Wait() // its state has the code
		w.Close()
		close(ended)
	}()
	other, mine, theirs, err = s.Start(ctx, r, in, url, verify)
	r.Close()
	stubborn := time.AfterFunc(endTime, func() { _ = ssh.Process.Kill() })
	defer stubborn.Stop()
	if <-ended; errors.Is(err, errNoHello) {
		err = explain(url, ssh.ProcessState.ExitCode())
	}
	return other, mine, theirs, err
}

// explain says why there is no lcm at the other end, by the exit code of ssh.
func explain(url string, code int) error {
	switch code {
	case 255:
		return hint.New("its message is above; try `ssh` to that machine first", "ssh cannot reach %s", url)
	case 126, 127:
		return hint.New("install it there (docs/INSTALL.md), or name its path there with --remote-lcm, or for good with `lcm config set sync.remote_lcm PATH`", "there is no lcm on the PATH of %s", url)
	case 2:
		return hint.New("install the same version of lcm on both machines; `lcm version` tells it", "lcm on %s does not know `sync --stdio`", url)
	}
	return hint.New("its message is above; `--remote-lcm lcm` starts it without sh, for Windows", "lcm on %s does not answer (exit code %d)", url, code)
}
