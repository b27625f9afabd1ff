package archtest_test

import (
	"bytes"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lossless-context/lcm"

// passedOn are types that an embedder gets from one public package and gives to
// another. Their methods are for this module, so the types that they mention
// need no public name.
var passedOn = map[string]bool{
	module + "/internal/record/store.Store": true,
	module + "/internal/record/sqlite.DB":   true,
	module + "/internal/record/postgres.DB": true,
}

// maxPublicNames is how many exported names (functions, types, values, without
// methods) the public packages may have together.
const maxPublicNames = 450

// Every type in the exported API of a public package can be named from a public
// package: an embedder can declare a variable, a parameter or an implementation
// of it.
func TestPublicTypesCanBeNamed(t *testing.T) {
	packages := publicPackages(t)
	names := 0
	w := walker{named: map[string]bool{}, seen: map[string]bool{}, missing: map[string]string{}}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			names++
			if n, ok := types.Unalias(o.Type()).(*types.Named); ok {
				if _, isType := o.(*types.TypeName); isType {
					w.named[key(n)] = true
				}
			}
		}
	}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			w.from = strings.TrimPrefix(strings.TrimPrefix(p.Path(), module), "/") + "." + name
			if n, ok := types.Unalias(o.Type()).(*types.Named); ok {
				if _, isType := o.(*types.TypeName); isType {
					w.members(n)
					continue
				}
			}
			w.walk(o.Type())
		}
	}
	var missing []string
	for typ, from := range w.missing {
		missing = append(missing, strings.TrimPrefix(typ, module+"/")+" is mentioned by "+from+" and has no public name")
	}
	slices.Sort(missing)
	for _, m := range missing {
		t.Error(m)
	}
	t.Logf("%d exported names in %d public packages", names, len(packages))
	if len(packages) > 13 || names > maxPublicNames {
		t.Errorf("at most 13 packages and %d names are allowed", maxPublicNames)
	}
}

// walker looks for types of internal packages.
type walker struct {
	named   map[string]bool // types that a public package names
	seen    map[string]bool
	missing map[string]string // where each was found
	from    string
}

func key(n *types.Named) string {
	o := n.Origin().Obj()
	if o.Pkg() == nil {
		return o.Name()
	}
	return o.Pkg().Path() + "." + o.Name()
}

// members looks at what a named type shows: its fields and methods.
func (w *walker) members(n *types.Named) {
	k := key(n)
	if w.seen[k] || passedOn[k] || !strings.HasPrefix(k, module) {
		return
	}
	w.seen[k] = true
	for i := range n.NumMethods() {
		if m := n.Method(i); m.Exported() {
			w.walk(m.Type())
		}
	}
	w.walk(n.Underlying())
}

func (w *walker) walk(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.walk(types.Unalias(t))
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			w.walk(t.TypeArgs().At(i))
		}
		k := key(t)
		if !strings.HasPrefix(k, module+"/internal/") {
			return // it is public, or not of this module
		}
		if !w.named[k] {
			if _, known := w.missing[k]; !known && t.Obj().Exported() {
				w.missing[k] = w.from
			}
			return
		}
		w.members(t)
	case *types.Pointer:
		w.walk(t.Elem())
	case *types.Slice:
		w.walk(t.Elem())
	case *types.Array:
		w.walk(t.Elem())
	case *types.Chan:
		w.walk(t.Elem())
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case *types.Signature:
		w.walk(t.Params())
		w.walk(t.Results())
	case *types.Tuple:
		for i := range t.Len() {
			w.walk(t.At(i).Type())
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); f.Exported() {
				w.walk(f.Type())
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if m := t.Method(i); m.Exported() {
				w.walk(m.Type())
			}
		}
	}
}

// publicPackages reads the exported API of the packages that others may import.
func publicPackages(t *testing.T) []*types.Package {
	t.Helper()
	var public []string
	for _, line := range golist(t, "-f", "{{.ImportPath}} {{.Name}} {{len .GoFiles}}", "./...") {
		path, kind, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(kind, "main ") && !strings.HasSuffix(kind, " 0") && !strings.Contains(path, "/internal/") && !strings.HasPrefix(path, module+"/bench/") {
			public = append(public, path)
		}
	}
	files := map[string]string{}
	for _, line := range golist(t, append([]string{"-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, public...)...) {
		path, file, _ := strings.Cut(line, " ")
		files[path] = file
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	var packages []*types.Package
	for _, path := range public {
		p, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(p.Scope().Names(), token.IsExported) { // e2e is all tests
			packages = append(packages, p)
		}
	}
	return packages
}

// golist returns the lines that go list prints in the root of the module.
func golist(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
