package browsertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// goStrings returns the string constants in the list of a Go file, with sums of
// two constants joined.
func goStrings(t *testing.T, source []byte) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "payloads_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var value func(ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return s
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		}
		t.Fatalf("%T is not a constant", e)
		return ""
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				all = append(all, value(e))
			}
			return false
		}
		return true
	})
	return all
}
