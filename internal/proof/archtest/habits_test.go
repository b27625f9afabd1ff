package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// MaxLines is how long a file may be, so that it can be read at one sitting.
const MaxLines = 500

// CheckLength reports files that are too long to read in one sitting, tests
// included and generated files excepted.
func CheckLength(t *Tree) []string {
	var wrong []string
	for _, f := range t.Files {
		if !f.IsGenerated() && f.Lines > MaxLines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d: split it by what it is about", f.Path, f.Lines, MaxLines))
		}
	}
	return wrong
}

// MaxMethods is how many methods a type may have. A type with more is one long
// file, in however many files it stands.
const MaxMethods = 40

// CheckMethods reports types with too many methods.
func CheckMethods(t *Tree) []string {
	count := map[string]int{}
	for _, f := range t.Files {
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || f.IsTest() {
				continue
			}
			of := fn.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if name, ok := of.(*ast.Ident); ok {
				count[f.Dir()+"."+name.Name]++
			}
		}
	}
	var wrong []string
	for name, n := range count {
		if n > MaxMethods {
			wrong = append(wrong, fmt.Sprintf("%s has %d methods, more than %d: take a type of its own out of it", name, n, MaxMethods))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// vague names say nothing about what a package is for, so everything ends up
// in it.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}

// CheckNames reports packages whose name says nothing about the domain.
func CheckNames(t *Tree) []string {
	var wrong []string
	for _, dir := range t.packages() {
		if slices.Contains(vague, path.Base(dir)) {
			wrong = append(wrong, fmt.Sprintf("%s: name the package after what it is about", dir))
		}
	}
	for _, f := range t.Files {
		if name := f.AST.Name.Name; slices.Contains(vague, name) && name != path.Base(f.Dir()) {
			wrong = append(wrong, fmt.Sprintf("%s is of package %s: name the package after what it is about", f.Path, name))
		}
	}
	return wrong
}

// CheckDocs reports packages without a package comment, and library packages
// whose comment does not begin the way Go documentation does.
func CheckDocs(t *Tree) []string {
	docs := map[string]string{}
	for _, f := range t.Files {
		if f.AST.Doc != nil {
			docs[f.Dir()] += f.AST.Doc.Text()
		}
	}
	names := map[string]string{}
	for _, f := range t.Files {
		if !f.IsTest() {
			names[f.Dir()] = f.AST.Name.Name
		}
	}
	var wrong []string
	for _, dir := range t.packages() {
		name, doc := names[dir], docs[dir]
		switch {
		case doc == "":
			wrong = append(wrong, fmt.Sprintf("%s has no package comment: say what it is for, what it promises and what it leaves to others", dir))
		case name != "" && name != "main" && !strings.HasPrefix(doc, "Package "+name+" "):
			wrong = append(wrong, fmt.Sprintf("%s: its package comment must begin with %q", dir, "Package "+name+" "))
		}
	}
	return wrong
}

// CheckContexts reports calls of context.Background and context.TODO outside
// programs, tests and package core, whose oldest forms carry no context.
// Anywhere else they cut off the caller's deadline and cancellation.
func CheckContexts(t *Tree) []string {
	var wrong []string
	for _, f := range t.Files {
		if f.IsTest() || f.AST.Name.Name == "main" || f.Dir() == "core" {
			continue
		}
		local := localName(f.AST, "context")
		ast.Inspect(f.AST, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if ok && pkg.Name == local && (sel.Sel.Name == "Background" || sel.Sel.Name == "TODO") {
				wrong = append(wrong, fmt.Sprintf("%s uses context.%s: take a context from the caller", f.Path, sel.Sel.Name))
			}
			return true
		})
	}
	return wrong
}

// CheckOneName reports what internal packages above the store take from the public package record
// though the contract of the store has it too: there, a type of the record has one name.
func CheckOneName(t *Tree) []string {
	const bridge, public = "internal/record/store/bridge.go", "record"
	bridged, above := map[string]bool{}, map[string]bool{}
	for _, f := range t.Files {
		if slices.Contains(t.imports(f), path.Dir(bridge)) {
			above[f.Dir()] = strings.HasPrefix(f.Path, "internal/")
		}
	}
	var wrong []string
	for _, of := range []func(File) bool{
		func(f File) bool { return f.Path == bridge },
		func(f File) bool { return above[f.Dir()] },
	} {
		for _, f := range t.Files {
			local := localName(f.AST, t.Module+"/"+public)
			if !of(f) || local == "" {
				continue
			}
			ast.Inspect(f.AST, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch pkg, ok := sel.X.(*ast.Ident); {
				case !ok || pkg.Name != local:
				case f.Path == bridge:
					bridged[sel.Sel.Name] = true
				case bridged[sel.Sel.Name]:
					wrong = append(wrong, fmt.Sprintf("%s uses record.%s: inside, its name is that of package store", f.Path, sel.Sel.Name))
				}
				return true
			})
		}
	}
	return wrong
}

// bulky names the imports that add megabytes to the command, and why.
var bulky = map[string]string{
	"text/template":                    "it calls methods by name, so the linker keeps every exported method of the program: use strings.NewReplacer",
	"html/template":                    "it calls methods by name, so the linker keeps every exported method of the program: use strings.NewReplacer",
	"github.com/openai/openai-go/v3":   "it registers the types of every API: use its package responses",
	"github.com/tiktoken-go/tokenizer": "it holds its vocabularies in Go maps: use llms/tiktoken",
}

// CheckBulk reports imports that would make the command much larger.
func CheckBulk(t *Tree) []string {
	var wrong []string
	for _, f := range t.Files {
		for _, spec := range f.AST.Imports {
			name := strings.Trim(spec.Path.Value, "\"`")
			if why := bulky[name]; why != "" && !f.IsTest() {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", f.Path, name, why))
			}
		}
	}
	return wrong
}

// localName is the name under which a file refers to the package at path, or
// "" if it does not import it.
func localName(f *ast.File, importPath string) string {
	for _, spec := range f.Imports {
		if strings.Trim(spec.Path.Value, "\"`") != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}
