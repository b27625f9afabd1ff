package archtest_test

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lossless-context/lcm"

// passedOn are types that an embedder gets from one public package and gives to
// another. Their methods are for this module.
var passedOn = map[string]bool{
	module + "/internal/record/store.Store": true,
	module + "/internal/record/sqlite.DB":   true,
	module + "/internal/record/postgres.DB": true,
}

// maxPublicNames is how many exported names (functions, types, values, without
// methods) the public packages may have together, maxPublicPackages how many packages
// there may be.
const (
	maxPublicNames    = 450
	maxPublicPackages = 13
)

// No exported name of a public package mentions a type of an internal package: go doc
// shows the fields and methods of every type that an embedder meets.
func TestPublicTypesArePublic(t *testing.T) {
	packages := publicPackages(t)
	names := 0
	w := walker{seen: map[string]bool{}, internal: map[string]string{}}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			o := p.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			names++
			w.from = strings.TrimPrefix(strings.TrimPrefix(p.Path(), module), "/") + "." + name
			w.walk(o.Type())
			if n, ok := o.Type().(*types.Named); ok {
				w.members(n)
			}
		}
	}
	var wrong []string
	for typ, from := range w.internal {
		wrong = append(wrong, from+" mentions the internal type "+strings.TrimPrefix(typ, module+"/"))
	}
	slices.Sort(wrong)
	for _, m := range wrong {
		t.Error(m)
	}
	t.Logf("%d exported names in %d public packages", names, len(packages))
	if len(packages) > maxPublicPackages || names > maxPublicNames {
		t.Errorf("at most %d packages and %d names are allowed", maxPublicPackages, maxPublicNames)
	}
}

// go doc explains each exported field of the public structs: it has a comment.
func TestPublicFieldsHaveComments(t *testing.T) {
	for _, p := range publicPackages(t) {
		dir := filepath.Join("../../..", strings.TrimPrefix(p.Path(), module))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() || strings.HasSuffix(name, "_test.go") {
					return true
				}
				s, ok := spec.Type.(*ast.StructType)
				for i := 0; ok && i < len(s.Fields.List); i++ {
					f := s.Fields.List[i]
					for _, field := range f.Names {
						if field.IsExported() && f.Doc == nil && f.Comment == nil {
							t.Errorf("%s.%s.%s has no comment", p.Name(), spec.Name, field)
						}
					}
				}
				return true
			})
		}
	}
}

// walker looks for types of internal packages.
type walker struct {
	seen     map[string]bool
	internal map[string]string // where each was found
	from     string
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
		if _, known := w.internal[k]; strings.HasPrefix(k, module+"/internal/") && !passedOn[k] && !known {
			w.internal[k] = w.from
		}
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
