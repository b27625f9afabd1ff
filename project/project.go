// Package project says which project a directory belongs to, so that what was
// said in a clone, a worktree or a subdirectory of one repository is found
// together.
//
// It reads git's own files and runs nothing; where a directory no longer
// exists, its path is all that is left to name it by.
package project

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/store"
)

// Of says which project a directory belongs to: the git repository
// around it, named by its origin where it has one, else the directory itself.
// Git is not run: its files are stable, and it may not be installed.
func Of(dir string) (store.Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return store.Project{}, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at := dir; ; at = filepath.Dir(at) {
		gitDir, err := gitDirOf(at)
		if err != nil {
			return store.Project{}, err
		}
		if gitDir != "" {
			return repository(at, gitDir)
		}
		if at == filepath.Dir(at) {
			return store.Project{Root: dir}, nil
		}
	}
}

// gitDirOf returns the git directory of a working tree's root, or "" if there
// is none. A worktree or submodule has a file that says where it is.
func gitDirOf(root string) (string, error) {
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for a git repository: %w", err)
	case info.IsDir():
		return dot, nil
	}
	content, err := os.ReadFile(dot)
	if err != nil {
		return "", fmt.Errorf("look for a git repository: %w", err)
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir:")
	if !ok {
		return "", nil
	}
	return resolve(root, strings.TrimSpace(to)), nil
}

func resolve(base, p string) string {
	p = filepath.FromSlash(p)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

// repository names the project of a working tree. All worktrees of a
// repository share the directory that commondir names.
func repository(root, gitDir string) (store.Project, error) {
	shared := gitDir
	if content, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		shared = resolve(gitDir, strings.TrimSpace(string(content)))
		if filepath.Base(shared) == ".git" {
			root = filepath.Dir(shared)
		}
	}
	config, err := os.Open(filepath.Join(shared, "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return store.Project{Root: root}, nil
	}
	if err != nil {
		return store.Project{}, fmt.Errorf("read the git configuration: %w", err)
	}
	defer config.Close()
	remote, err := originURL(config)
	if err != nil {
		return store.Project{}, fmt.Errorf("read the git configuration: %w", err)
	}
	return store.Project{Origin: normalOrigin(root, remote), Root: root}, nil
}

// originURL finds the address of the remote called origin.
func originURL(config fs.File) (string, error) {
	inOrigin, found := false, ""
	lines := bufio.NewScanner(config)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inOrigin = strings.EqualFold(strings.Join(strings.Fields(line), " "), `[remote "origin"]`)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if inOrigin && ok && found == "" && strings.EqualFold(strings.TrimSpace(key), "url") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found, lines.Err()
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
