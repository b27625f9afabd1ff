package codex

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/wire"
)

// threadID is the form of the ids of threads and of revisions.
var threadID = lazyregexp.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// stamp is the time in the name of a rollout, in the zone of the machine.
const stamp = "2006-01-02T15-04-05"

// Places implements [hosts.Restoring]. The program finds a thread by the name of its file, without
// its database; where the database knows the thread, the name must be the one that it had.
func (Host) Places(t hosts.Transcript) func(string, func() ([]byte, error)) (string, error) {
	path, revision := "", ""
	return func(id string, record func() ([]byte, error)) (string, error) {
		if _, other, ok := strings.Cut(id, "/"); ok && other != revision {
			path, revision = "", other
		}
		if path != "" {
			return path, nil
		}
		if !threadID().MatchString(t.Session) || revision != "" && !threadID().MatchString(revision) {
			return "", fmt.Errorf("%q, %q is not the id of a thread", t.Session, revision)
		}
		begun, err := beginning(filepath.Base(t.Path), t.Session, revision, record)
		if err != nil {
			return "", err
		}
		name := "rollout-" + begun.Format(stamp) + "-" + t.Session
		if revision != "" {
			name += "_" + revision
		}
		path = filepath.Join("sessions", begun.Format("2006"), begun.Format("01"), begun.Format("02"), name+".jsonl")
		return path, nil
	}
}

// beginning returns the time in the name of a file: the one that it had when it was last read, else
// that of its first line.
func beginning(was, thread, revision string, record func() ([]byte, error)) (time.Time, error) {
	if name := rollout().FindStringSubmatch(was); name != nil && name[1] == thread && name[2] == revision {
		if begun, err := time.Parse(stamp, was[len("rollout-"):][:len(stamp)]); err == nil {
			return begun, nil
		}
	}
	raw, err := record()
	if err != nil {
		return time.Time{}, err
	}
	v, err := wire.Members(raw, "timestamp", "payload")
	if err == nil {
		at := v[0]
		if p, err := wire.Members(v[1], "timestamp"); err == nil && p[0] != nil {
			at = p[0]
		}
		var begun time.Time
		if begun, err = time.Parse(time.RFC3339, wire.Unquote(at)); err == nil {
			return begun.Local(), nil
		}
	}
	return time.Time{}, errors.New("its first line has no time")
}

// Resume implements [hosts.Restoring].
func (Host) Resume(session string) string { return "codex resume " + session }
