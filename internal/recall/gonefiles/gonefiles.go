// Package gonefiles names files of a project that an answer quotes and that no longer exist.
// A record keeps every path that was ever mentioned; a reader that goes by an old one
// looks for a file in vain.
//
// It looks at the file system of this machine, so that only the command line and the MCP
// server that a host starts use it. The quoted text is untrusted: a path counts only
// inside the project's directory, and [os.Root] lets no link lead out of it. Nothing is
// opened, and it takes at most a quarter of a second.
package gonefiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/recall"
)

const (
	timeLimit = 250 * time.Millisecond
	maxLooked = 64 // paths that are looked for
	maxNamed  = 8
)

// InMatches returns a note that names the files that matches quote and that are gone from
// the project around dir, or nothing.
func InMatches(dir string, a recall.GrepAnswer) []string {
	var texts []string
	for _, m := range a.Matches {
		if m.Project == "" && (a.Widened != nil || ofProject(a.Scope)) {
			texts = append(texts, m.Snippet)
		}
	}
	return note(dir, texts)
}

// InAnswer is InMatches for an answer and its quotes.
func InAnswer(dir string, a recall.Answer) []string {
	if !ofProject(a.Scope) {
		return nil
	}
	texts := []string{a.Answer, a.Evidence}
	for _, c := range a.Citations {
		texts = append(texts, c.Quote)
	}
	return note(dir, texts)
}

// ofProject reports a scope that does not reach into other projects.
func ofProject(s recall.Scope) bool {
	return s.Kind == recall.ScopeProject || s.Kind == recall.ScopeCurrent
}

// note looks in another goroutine, since a network drive may not answer.
func note(dir string, texts []string) []string {
	if dir == "" || len(texts) == 0 {
		return nil
	}
	found := make(chan []string, 1)
	ends := time.Now().Add(timeLimit)
	go func() { found <- look(dir, texts, ends) }()
	select {
	case gone := <-found:
		if len(gone) > 0 {
			return []string{"gone since: " + prose.Join(gone, ", ", maxNamed)}
		}
	case <-time.After(timeLimit):
	}
	return nil
}

// paths finds names of files in directories, at the start of a word.
var paths = lazyregexp.New("(?:^|[\\s\"'`(\\[<=,;])((?:/|\\./)?(?:\\.?[\\w@+~-][\\w.@+~-]*/)+\\.?[\\w@+~-][\\w.@+~-]*\\.[A-Za-z]\\w{0,7})")

// look returns the files of the project that are not there. A relative path belongs to the
// project if its first directory is there.
func look(dir string, texts []string, ends time.Time) (gone []string) {
	top, err := project.WorkTree(dir)
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil
	}
	defer root.Close()
	seen := map[string]bool{}
	for _, m := range paths().FindAllStringSubmatch(strings.Join(texts, "\n"), -1) {
		name := strings.TrimPrefix(m[1], filepath.ToSlash(top)+"/")
		absolute := name != m[1]
		if name = strings.TrimPrefix(name, "./"); seen[name] || !filepath.IsLocal(name) || slices.Contains(strings.Split(name, "/"), "..") {
			continue
		}
		if seen[name] = true; len(seen) > maxLooked || time.Now().After(ends) {
			break
		}
		first, _, _ := strings.Cut(name, "/")
		if info, err := root.Stat(first); !absolute && (err != nil || !info.IsDir()) {
			continue
		}
		if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
		}
	}
	return gone
}
