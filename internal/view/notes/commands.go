package notes

import (
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// checking matches commands that check something and change nothing of interest.
var (
	checking = lazyregexp.New(`^(?:go (?:version|build|test|vet|env|list)|cargo (?:build|test|check|clippy)|(?:npm|pnpm|yarn|bun) (?:(?:run )?(?:test|build|lint)|ls|outdated)|` +
		`make(?: (?:test|build|lint|check|all))?$|pytest|python3? -m pytest|tsc|ruff|mypy|git (?:fetch|remote|rev-parse)|docker (?:ps|images|logs)|kubectl (?:get|describe|logs)|` +
		`curl -[sI]+|\S+ (?:--version|-version|-v|version)$)(?:\s|$)`)
	between   = lazyregexp.New(`&&|\|\||[;|\n]`)
	toNothing = lazyregexp.New(`2>&1|[12&]?>\s*/dev/null`)
	goesTo    = lazyregexp.New(`\b(?:cd|git -C) +["']?([/~$][^\s"';&|]*)|\bgit (?:init|clone)\b`)
	removes   = lazyregexp.New(`(?:^|[;&|] *)(?:git )?rm ([^;&|\n]+)`)
)

// Checks reports whether every part of a command line only looks or checks.
func Checks(line string) bool {
	line = toNothing().ReplaceAllString(line, "")
	return !strings.Contains(line, ">") && !slices.ContainsFunc(between().Split(line, -1), func(part string) bool {
		part = strings.TrimSpace(part)
		return part != "" && !strings.HasPrefix(part, "cd ") && !Looks(part) && !checking().MatchString(part)
	})
}

// Elsewhere reports whether a command line goes out of a directory, or makes a repository.
func Elsewhere(line, root string) bool {
	return slices.ContainsFunc(goesTo().FindAllStringSubmatch(line, -1), func(m []string) bool { return !within(m[1], root) })
}

// Removes reports whether a command line in a directory removes a file.
func Removes(line, root, file string) bool {
	return slices.ContainsFunc(removes().FindAllStringSubmatch(line, -1), func(m []string) bool {
		return slices.ContainsFunc(strings.Fields(m[1]), func(p string) bool {
			p = strings.Trim(p, `"'/`)
			return within(strings.TrimPrefix(file, "/"), p) || within(strings.TrimPrefix(file, root+"/"), p)
		})
	})
}

// within reports whether a path is a directory or is in it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
