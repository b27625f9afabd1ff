package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Tree is the parsed source of one module.
type Tree struct {
	Module string // the module path of go.mod
	Files  []File // in order of path
}

// File is one Go source file.
type File struct {
	Path  string // slash-separated, from the module's root
	Lines int
	AST   *ast.File
}

// Dir is the directory of the file, "." at the root: the name by which rules
// know a package.
func (f File) Dir() string { return path.Dir(f.Path) }

// IsTest reports whether the file is compiled only for tests.
func (f File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// IsGenerated reports whether the file's name says that a program wrote it.
func (f File) IsGenerated() bool { return strings.HasSuffix(f.Path, "_gen.go") }

// Load parses every Go file of the module whose root is fsys. It leaves out
// the same files as the go command: testdata, names that begin with a dot or an
// underscore, and nested modules. Build constraints are not applied, so that a
// wrong import on another platform is found too.
func Load(fsys fs.FS) (*Tree, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("load the module: %w", err)
	}
	tree := &Tree{Module: moduleName(string(gomod))}
	if tree.Module == "" {
		return nil, errors.New("load the module: go.mod has no module line")
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(fsys, name)
		}
		if path.Ext(name) != ".go" || hidden(path.Base(name)) {
			return nil
		}
		file, err := parse(fsys, name)
		if err != nil {
			return err
		}
		tree.Files = append(tree.Files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load the module: %w", err)
	}
	return tree, nil
}

func moduleName(gomod string) string {
	for line := range strings.Lines(gomod) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1]
		}
	}
	return ""
}

// enter returns fs.SkipDir for a directory that holds no package of the module.
func enter(fsys fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if hidden(base) || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func hidden(base string) bool { return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") }

func parse(fsys fs.FS, name string) (File, error) {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return File{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, err
	}
	lines := strings.Count(string(src), "\n")
	if len(src) > 0 && src[len(src)-1] != '\n' {
		lines++
	}
	return File{Path: name, Lines: lines, AST: parsed}, nil
}

// imports returns the packages of the module that the file imports, as
// directories.
func (t *Tree) imports(f File) []string {
	var dirs []string
	for _, spec := range f.AST.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if name == t.Module {
			dirs = append(dirs, ".")
		} else if rest, ok := strings.CutPrefix(name, t.Module+"/"); ok {
			dirs = append(dirs, rest)
		}
	}
	return dirs
}

// packages returns the directories that hold Go files, in order.
func (t *Tree) packages() []string {
	var dirs []string
	for _, f := range t.Files {
		dirs = append(dirs, f.Dir())
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
