// Package project says which project a directory belongs to, so that what was
// said in a clone, a worktree or a subdirectory of one repository is found
// together.
//
// It reads git's own files and runs nothing; where a directory no longer
// exists, its path is all that is left to name it by. A repository that belongs
// to another user is ignored, as git refuses it, unless safe.directory in the
// user's git configuration names it.
package project

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// limit is how long Of waits for the file system. A directory on a network
// drive that does not answer would block a hook, and with it the host.
const limit = 2 * time.Second

// errSlow says that the file system did not answer in time.
var errSlow = errors.New("the file system does not answer")

// Of says which project a directory belongs to: the git repository
// around it, named by its origin where it has one, else the directory itself.
// Git is not run: its files are stable, and it may not be installed.
//
// It returns within two seconds whatever the file system does.
func Of(dir string) (store.Project, error) {
	type answer struct {
		project store.Project
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		p, err := of(dir)
		answered <- answer{p, err}
	}()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case a := <-answered:
		return a.project, a.err
	case <-t.C:
		return store.Project{}, fmt.Errorf("look for a git repository: %w within %s", errSlow, limit)
	}
}

func of(dir string) (store.Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return store.Project{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		r, found, err := repositoryAt(at)
		if err != nil {
			return store.Project{}, fmt.Errorf("look for a git repository: %w", err)
		}
		if found {
			return r.project(), nil
		}
		if at == filepath.Dir(at) {
			return store.Project{Root: dir}, nil
		}
	}
}

// normalOrigin writes the addresses by which one repository can be reached
// (https, ssh, git, with or without user, port and ".git") in one form:
// host/path. A user name or a token in the address is dropped with it.
func normalOrigin(root, remote string) string {
	if remote == "" {
		return ""
	}
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Host != "" {
		return hostPath(u.Hostname(), u.Path)
	}
	remote = strings.TrimPrefix(remote, "file://")
	// user@host:path, where what is before the colon holds no slash.
	if host, p, ok := strings.Cut(remote, ":"); ok && !strings.ContainsAny(host, `/\`) && len(host) > 1 {
		if _, after, ok := strings.Cut(host, "@"); ok {
			host = after
		}
		return hostPath(host, p)
	}
	return filepath.ToSlash(resolve(root, remote))
}

func hostPath(host, p string) string {
	p = strings.TrimSuffix(strings.Trim(path.Clean("/"+p), "/"), ".git")
	return strings.ToLower(host) + "/" + p
}
