package pi

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/wire"
)

var sessionID = lazyregexp.New(`^[0-9A-Za-z-]{1,100}$`)

// Places implements [hosts.Restoring]. A file is called after the time in its first line.
func (Host) Places(t hosts.Transcript) func(string, func() ([]byte, error)) (string, error) {
	path := ""
	return func(_ string, record func() ([]byte, error)) (string, error) {
		if path != "" {
			return path, nil
		}
		raw, err := record()
		if err != nil {
			return "", err
		}
		v, err := wire.Members(raw, "timestamp")
		if err != nil {
			return "", err
		}
		begun, err := time.Parse(time.RFC3339, wire.Unquote(v[0]))
		if err != nil || !sessionID().MatchString(t.Session) {
			return "", fmt.Errorf("its first line has no time, or %q is not the id of a session", t.Session)
		}
		dir := strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(t.Dir[:1], `/\`) + t.Dir[1:])
		name := strings.NewReplacer(":", "-", ".", "-").Replace(begun.UTC().Format("2006-01-02T15:04:05.000Z"))
		path = filepath.Join("--"+dir+"--", name+"_"+t.Session+".jsonl")
		return path, nil
	}
}

// Resume implements [hosts.Restoring].
func (Host) Resume(session string) string { return "pi --session " + session }
