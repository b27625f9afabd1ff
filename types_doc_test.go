package lcm_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"

	"github.com/lossless-context/lcm"
)

// go doc shows no fields of an alias, so its comment names them all.
func TestAliasesNameTheirFields(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Doc != nil {
			docs[spec.Name.Name] = spec.Doc.Text()
		}
		return true
	})
	for name, typ := range map[string]reflect.Type{
		"Answer": reflect.TypeFor[lcm.Answer](), "Question": reflect.TypeFor[lcm.Question](), "Citation": reflect.TypeFor[lcm.Citation](),
		"GrepAnswer": reflect.TypeFor[lcm.GrepAnswer](), "Match": reflect.TypeFor[lcm.Match](), "Report": reflect.TypeFor[lcm.Report](),
		"ConversationVerification": reflect.TypeFor[lcm.ConversationVerification](),
	} {
		for i := range typ.NumField() {
			field := typ.Field(i)
			if field.IsExported() && !regexp.MustCompile(`\b`+field.Name+`\b`).MatchString(docs[name]) {
				t.Errorf("the comment of %s does not name its field %s", name, field.Name)
			}
		}
	}
}
