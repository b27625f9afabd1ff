package claude

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// The ids of sessions and of sub-agents, as the program makes them.
var (
	sessionID = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	agentID   = lazyregexp.New(`^agent-[0-9A-Za-z_-]{1,100}$`)
)

// maxSlug is how much of a directory's path is in a name. The program ends longer ones with a hash.
const maxSlug = 200

// slug is the name of a directory below projects/.
func slug(dir string) (string, error) {
	units := utf16.Encode([]rune(norm.NFC.String(dir)))
	if len(units) > maxSlug {
		return "", fmt.Errorf("the path %q is longer than %d characters", dir, maxSlug)
	}
	name := make([]byte, len(units))
	for i, c := range units {
		name[i] = '-'
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
			name[i] = byte(c)
		}
	}
	return string(name), nil
}

// Places implements [hosts.Restoring]. Beside the lines there are long outputs and the
// descriptions of sub-agents, in the directory of the session.
func (Host) Places(t hosts.Transcript) func(string, func() ([]byte, error)) (string, error) {
	project, err := slug(t.Dir)
	session, agent, ofSubagent := strings.Cut(t.Session, "/")
	switch {
	case err != nil:
	case !ofSubagent && !sessionID().MatchString(session) && !agentID().MatchString(session), ofSubagent && !(sessionID().MatchString(session) && agentID().MatchString(agent)):
		err = fmt.Errorf("%q is not the id of a session", t.Session)
	}
	main, dir := filepath.Join(project, session+suffix), filepath.Join(project, session)
	if ofSubagent {
		main = filepath.Join(dir, "subagents", agent+suffix)
	}
	return func(id string, _ func() ([]byte, error)) (string, error) {
		if !hosts.IsAside(id) || err != nil {
			return main, err
		}
		name, spilled := strings.CutPrefix(hosts.AsideName(id), spillDir+"/")
		switch {
		case spilled && strings.Trim(name, ".") != "" && nameLength(name) == len(name):
			return filepath.Join(dir, spillDir, name), nil
		case ofSubagent && name == agent+".meta.json":
			return filepath.Join(dir, "subagents", name), nil
		}
		return "", nil // a prompt from the queue, which the lines have too
	}
}

// Resume implements [hosts.Restoring].
func (Host) Resume(session string) string { return "claude --resume " + session }
