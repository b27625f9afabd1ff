package tools

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// go doc names every argument of the tools, as a model has to spell it.
func TestDocNamesArguments(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []any{expandArgs{}, delegateArgs{}} {
		for i := range reflect.TypeOf(args).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(args).Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(doc), name+": ") {
				t.Errorf("doc.go does not name %s of %T", name, args)
			}
		}
	}
}
