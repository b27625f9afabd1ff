package lcm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lossless-context/lcm/"

// go doc shows neither the fields of an alias nor the methods of its interface, so
// its comment names them all.
func TestAliasesNameTheirFieldsAndMethods(t *testing.T) {
	checked := map[string]bool{}
	for _, dir := range []string{".", "store/sqlite", "store/postgres"} {
		for _, file := range parseDir(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				if d, ok := n.(*ast.GenDecl); ok && !d.Lparen.IsValid() && len(d.Specs) == 1 {
					if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
						spec.Doc = d.Doc // the comment of a declaration without parentheses
					}
				}
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Assign.IsValid() {
					return true
				}
				// A type that a program only passes on names no methods.
				methods := spec.Name.Name == "Recall"
				for _, name := range members(t, file, spec.Type, methods) {
					checked[spec.Name.Name] = true
					if !regexp.MustCompile(`\b` + name + `\b`).MatchString(spec.Doc.Text()) {
						t.Errorf("%s: the comment of %s does not name %s", dir, spec.Name.Name, name)
					}
				}
				return true
			})
		}
	}
	for _, name := range []string{"Recall", "Where", "GrepRequest", "Summariser", "Policy", "Options"} {
		if !checked[name] {
			t.Errorf("%s was not checked", name)
		}
	}
}

// members lists the exported fields of a struct or the methods of an interface that
// an alias refers to, in whatever package of the module, and with methods also those
// of a struct.
func members(t *testing.T, in *ast.File, alias ast.Expr, methods bool) (names []string) {
	sel, ok := alias.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	dir := ""
	for _, i := range in.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil && path.Base(p) == sel.X.(*ast.Ident).Name {
			dir = strings.TrimPrefix(p, module)
		}
	}
	for _, file := range parseDir(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				if methods && d.Recv != nil && receiver(d) == sel.Sel.Name && d.Name.IsExported() {
					names = append(names, d.Name.Name)
				}
			case *ast.TypeSpec:
				if d.Name.Name != sel.Sel.Name {
					break
				}
				switch typ := d.Type.(type) {
				case *ast.StructType:
					names = append(names, exported(typ.Fields)...)
				case *ast.InterfaceType:
					names = append(names, exported(typ.Methods)...)
				case *ast.SelectorExpr:
					names = append(names, members(t, file, typ, methods)...)
				}
			}
			return true
		})
	}
	return names
}

func exported(list *ast.FieldList) (names []string) {
	for _, field := range list.List {
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	name, _ := typ.(*ast.Ident)
	return name.String()
}

func parseDir(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files: %v", dir, err)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
