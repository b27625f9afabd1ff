// Package project finds the project of a directory, so that sessions in a clone, a
// worktree or a subdirectory of one repository belong together.
//
// It reads git's files and runs no program. A directory that no longer exists is
// named by its path. A repository that belongs to another user is ignored, as git
// refuses it too, unless safe.directory in the user's git configuration names it.
package project

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// limit is how long Of waits for the file system. A network drive that does not
// answer would block a hook, and with it the host.
const limit = 2 * time.Second

// errSlow says that the file system did not answer in time.
var errSlow = errors.New("the file system does not answer")

// Of returns the project of a directory: the git repository around it, named by
// its origin if it has one, else the directory itself. It does not run git, which
// may not be installed.
//
// It returns within two seconds, whatever the file system does.
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
	r, found, err := around(dir)
	if !found {
		return store.Project{Root: r.root}, err
	}
	return r.project(), err
}

// WorkTree returns the directory with the files of the project around dir: the working
// tree of its repository, else dir itself. It may take as long as the file system does.
func WorkTree(dir string) (string, error) {
	r, _, err := around(dir)
	return r.root, err
}

// around returns the repository around a directory; where there is none, the root is the
// directory.
func around(dir string) (r repository, found bool, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return r, false, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		r, found, err := repositoryAt(at)
		if err != nil {
			return repository{}, false, fmt.Errorf("look for a git repository: %w", err)
		}
		if found || at == filepath.Dir(at) {
			if !found {
				r.root = dir
			}
			return r, found, nil
		}
	}
}

// normalOrigin normalises the URL of a repository (https, ssh, git, with or without
// user, port and ".git") to host/path. It drops a user name or token.
func normalOrigin(root, remote string) string {
	if remote == "" {
		return ""
	}
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Host != "" {
		return hostPath(u.Hostname(), u.Path)
	}
	remote = strings.TrimPrefix(remote, "file://")
	// user@host:path, with no slash before the colon.
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
