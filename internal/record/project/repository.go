package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// How much is read of git's files. A file that names a directory is short; of a
// configuration only the beginning is read.
const (
	maxPathFile = 16 << 10
	maxConfig   = 1 << 20
)

// repository describes a working tree from git's files.
type repository struct {
	root   string // of the working tree
	gitDir string
	shared string // the git directory that all its worktrees share
	config []byte
}

// repositoryAt looks for a repository whose working tree is a directory. It reads
// only regular files, and accepts only a repository that git itself would use: one
// that belongs to this user, or that the user's safe.directory names. Otherwise
// anybody who may write to a parent directory could choose the project.
func repositoryAt(root string) (r repository, found bool, err error) {
	dot := filepath.Join(root, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return r, false, nil
	case err != nil:
		return r, false, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return r, false, nil
	}
	r = repository{root: root, gitDir: dot}
	trusted := ownedPath(root) && ownedPath(dot)
	if !info.IsDir() {
		content, info, err := regularfile.Read(dot, maxPathFile)
		if err != nil {
			return r, false, nil
		}
		to, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir:")
		if !ok {
			return r, false, nil
		}
		r.gitDir = resolve(root, strings.TrimSpace(to))
		trusted = trusted && owned(info) && ownedPath(r.gitDir)
	}
	r.shared = r.gitDir
	if content, info, err := regularfile.Read(filepath.Join(r.gitDir, "commondir"), maxPathFile); err == nil {
		r.shared = resolve(r.gitDir, strings.TrimSpace(string(content)))
		trusted = trusted && owned(info) && ownedPath(r.shared)
	}
	config, info, err := regularfile.Read(filepath.Join(r.shared, "config"), maxConfig)
	if err == nil {
		r.config = config
		trusted = trusted && owned(info)
	}
	if !trusted && !safeDirectory(root) {
		return r, false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, regularfile.ErrNotRegular) {
		return r, false, err
	}
	return r, true, nil
}

// ownedPath reports whether a path belongs to this user. Of a symbolic link, both
// the link and its target must.
func ownedPath(path string) bool {
	link, err := os.Lstat(path)
	if err != nil || !owned(link) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && owned(info)
}

// project returns the project of a working tree. All worktrees of a repository
// share its git directory, and so the project.
func (r repository) project() store.Project {
	root := r.root
	if r.shared != r.gitDir && filepath.Base(r.shared) == ".git" {
		root = filepath.Dir(r.shared)
	}
	origin := ""
	if urls := configValues(r.config, `remote "origin"`, "url"); len(urls) > 0 {
		origin = urls[0]
	}
	return store.Project{Origin: normalOrigin(root, origin), Root: root}
}

func resolve(base, p string) string {
	p = filepath.FromSlash(p)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

// configValues returns the values of a key in a section of a git
// configuration, in their order.
func configValues(config []byte, section, key string) (values []string) {
	inside := false
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = strings.EqualFold(strings.Join(strings.Fields(line), " "), "["+section+"]")
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if inside && ok && strings.EqualFold(strings.TrimSpace(name), key) {
			values = append(values, strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return values
}

// safeDirectory reports whether the git configuration of the user or the machine
// allows a directory of another user.
func safeDirectory(root string) bool {
	safe := false
	for _, path := range userConfigs() {
		config, _, err := regularfile.Read(path, maxConfig)
		if err != nil {
			continue
		}
		for _, value := range configValues(config, "safe", "directory") {
			if rest, ok := strings.CutPrefix(value, "~/"); ok {
				if home, err := os.UserHomeDir(); err == nil {
					value = filepath.Join(home, rest)
				}
			}
			prefix, below := strings.CutSuffix(value, "/*")
			switch {
			case value == "":
				safe = false // an empty value clears those before it
			case value == "*", value == root, below && strings.HasPrefix(root, strings.TrimSuffix(prefix, "/")+"/"):
				safe = true
			}
		}
	}
	return safe
}

// userConfigs lists the configurations in which git honours safe.directory.
func userConfigs() []string {
	paths := []string{"/etc/gitconfig"}
	home, err := os.UserHomeDir()
	if err != nil {
		return paths
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return append(paths, filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig"))
}
