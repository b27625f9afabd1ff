package ui

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path"
	"reflect"
	"text/template/parse"
)

// markup is HTML that is written as it is. Every other value is escaped.
type markup string

// templates are parsed templates by name. They have the syntax of html/template,
// which is not linked: it calls methods by name, so the linker would keep every
// exported method of the program, 29 MB. Here fields and functions are called, and
// no methods. Values are escaped for text and quoted attributes; addresses in
// attributes are made by the server.
type templates struct {
	trees map[string]*parse.Tree
	funcs map[string]any
}

func parseTemplates(fsys fs.FS, dir string, funcs map[string]any) (*templates, error) {
	t := &templates{trees: map[string]*parse.Tree{}, funcs: funcs}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(fsys, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		trees, err := parse.Parse(e.Name(), string(text), "", "", funcs, builtins)
		if err != nil {
			return nil, err
		}
		for name, tree := range trees {
			t.trees[name] = tree
		}
	}
	return t, nil
}

// execute writes a template. A mistake in a template is an error.
func (t *templates) execute(w *bytes.Buffer, name string, data any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("template %s: %v", name, p)
		}
	}()
	t.call(w, name, reflect.ValueOf(data))
	return nil
}

func (t *templates) call(w *bytes.Buffer, name string, data reflect.Value) {
	tree := t.trees[name]
	if tree == nil {
		panic("there is no template " + name)
	}
	s := &scope{templates: t, w: w, vars: []variable{{"$", data}}}
	s.walk(data, tree.Root)
}

type variable struct {
	name  string
	value reflect.Value
}

// scope is the execution of one template.
type scope struct {
	*templates
	w    *bytes.Buffer
	vars []variable
}

func (s *scope) walk(dot reflect.Value, node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			s.walk(dot, child)
		}
	case *parse.TextNode:
		s.w.Write(n.Text)
	case *parse.ActionNode:
		v := s.pipe(dot, n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			s.print(v)
		}
	case *parse.IfNode:
		s.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		s.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		s.each(dot, n)
	case *parse.TemplateNode:
		data := reflect.Value{}
		if n.Pipe != nil {
			data = s.pipe(dot, n.Pipe)
		}
		s.call(s.w, n.Name, data)
	case *parse.CommentNode:
	default:
		panic(fmt.Sprintf("%s is not supported", node))
	}
}

func (s *scope) branch(dot reflect.Value, n *parse.BranchNode, sets bool) {
	mark := len(s.vars)
	v := s.pipe(dot, n.Pipe)
	switch {
	case truth(v) && sets:
		s.walk(v, n.List)
	case truth(v):
		s.walk(dot, n.List)
	case n.ElseList != nil:
		s.walk(dot, n.ElseList)
	}
	s.vars = s.vars[:mark]
}

func (s *scope) each(dot reflect.Value, n *parse.RangeNode) {
	list := plain(s.pipe(dot, n.Pipe))
	if !list.IsValid() || list.Len() == 0 {
		if n.ElseList != nil {
			s.walk(dot, n.ElseList)
		}
		return
	}
	for i := range list.Len() {
		s.walk(list.Index(i), n.List)
	}
}

// pipe returns the value of the last command of a pipeline, which is the only one
// that templates here have.
func (s *scope) pipe(dot reflect.Value, p *parse.PipeNode) reflect.Value {
	if len(p.Cmds) != 1 {
		panic(p.String() + ": pipes are not supported")
	}
	args := p.Cmds[0].Args
	var v reflect.Value
	if id, ok := args[0].(*parse.IdentifierNode); ok {
		v = s.apply(dot, id.Ident, args[1:])
	} else {
		v = s.value(dot, args[0])
	}
	for _, d := range p.Decl {
		s.vars = append(s.vars, variable{d.Ident[0], v})
	}
	return v
}

func (s *scope) value(dot reflect.Value, node parse.Node) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		for i := len(s.vars) - 1; i >= 0; i-- {
			if s.vars[i].name == n.Ident[0] {
				return fields(s.vars[i].value, n.Ident[1:])
			}
		}
	case *parse.ChainNode:
		return fields(s.value(dot, n.Node), n.Field)
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.IdentifierNode:
		return s.apply(dot, n.Ident, nil)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64))
		}
		return reflect.ValueOf(n.Float64)
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	}
	panic(fmt.Sprintf("%s is not a value", node))
}

// apply calls a function.
func (s *scope) apply(dot reflect.Value, name string, nodes []parse.Node) reflect.Value {
	fn := s.funcs[name]
	if fn == nil {
		fn = builtins[name]
	}
	f := reflect.ValueOf(fn)
	args := make([]reflect.Value, len(nodes))
	for i, n := range nodes {
		v := s.value(dot, n)
		want := f.Type().In(min(i, f.Type().NumIn()-1))
		if f.Type().IsVariadic() && i >= f.Type().NumIn()-1 {
			want = want.Elem()
		}
		switch {
		case !v.IsValid():
			v = reflect.Zero(want)
		case !v.Type().AssignableTo(want):
			if v = plain(v); !v.Type().AssignableTo(want) {
				v = v.Convert(want)
			}
		}
		args[i] = v
	}
	return f.Call(args)[0]
}

// fields follows names through structs and pointers.
func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		v = plain(v)
		f := v.FieldByName(name)
		if !f.IsValid() {
			panic(fmt.Sprintf("%s has no field %s", v.Type(), name))
		}
		v = f
	}
	return v
}

// plain returns the value that pointers and interfaces lead to.
func plain(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

func truth(v reflect.Value) bool {
	v = plain(v)
	if !v.IsValid() {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

func (s *scope) print(v reflect.Value) {
	v = plain(v)
	if !v.IsValid() {
		return
	}
	if v.Type() == reflect.TypeFor[markup]() {
		s.w.WriteString(v.String())
		return
	}
	s.w.WriteString(html.EscapeString(fmt.Sprint(v.Interface())))
}

// builtins are the functions of html/template that the templates here use.
var builtins = map[string]any{
	"not":    func(v any) bool { return !truth(reflect.ValueOf(v)) },
	"eq":     func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) },
	"ne":     func(a, b any) bool { return fmt.Sprint(a) != fmt.Sprint(b) },
	"gt":     func(a, b float64) bool { return a > b },
	"ge":     func(a, b int64) bool { return a >= b },
	"len":    func(list any) int { return reflect.ValueOf(list).Len() },
	"printf": fmt.Sprintf,
	"and": func(all ...any) any {
		for _, v := range all {
			if !truth(reflect.ValueOf(v)) {
				return v
			}
		}
		return all[len(all)-1]
	},
}
