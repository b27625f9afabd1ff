package explore

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
)

// language has the expressions for the lines of a programming language that a
// reader looks for: declarations at the top level, and imports.
type language struct {
	title          string
	decls, imports func() *regexp.Regexp
}

// Constants and variables of JavaScript count only where they hold code.
const functionValue = `(?:const|let|var) .*(?:=>|= function|= async|= class)`

var languages = map[string]language{
	kindGo:     {"Go source", lazyregexp.New(`^(?:func|type|const|var) `), lazyregexp.New(`^import "`)},
	kindPython: {"Python source", lazyregexp.New(`^(?:async )*(?:def|class) `), lazyregexp.New(`^(?:import|from) `)},
	kindJavaScript: {"JavaScript source",
		lazyregexp.New(`^(?:(?:export|default|async) )*(?:(?:function\*?|class) |module\.exports|` + functionValue + `)`), lazyregexp.New(`^import `)},
	kindTypeScript: {"TypeScript source",
		lazyregexp.New(`^(?:(?:export|default|declare|abstract|async) )*(?:(?:function\*?|class|interface|type|enum|namespace) |` + functionValue + `)`),
		lazyregexp.New(`^import `)},
	kindRust: {"Rust source",
		lazyregexp.New(`^(?:(?:pub(?:\((?:crate|super)\))?|async|unsafe|const|extern "C") )*(?:(?:fn|struct|enum|trait|impl|mod|type|const|static|macro_rules!|union) |impl<)`),
		lazyregexp.New(`^(?:use|extern crate) `)},
}

// code describes source code: its package, how much it imports, and the
// signatures of the declarations at the top level, with line numbers.
func (e *explorer) code() {
	lang := languages[e.name]
	e.title(lang.title)
	const most = 400 // more than fit into a summary
	imports, declared := 0, 0
	var decls []string
	pkg, inImport := "", false
	for n, line := range lines(e.data) {
		if inImport {
			// The grouped imports of Go, up to the closing bracket.
			if inImport = !bytes.HasPrefix(line, []byte{')'}); inImport && bytes.IndexByte(line, '"') >= 0 {
				imports++
			}
			continue
		}
		if len(line) == 0 || bytes.IndexByte([]byte(" }/"), line[0]) >= 0 {
			continue
		}
		head := string(line[:min(len(line), maxLine)])
		switch {
		case e.name == kindGo && pkg == "" && strings.HasPrefix(head, "package "):
			pkg = strings.TrimSpace(head)
		case e.name == kindGo && strings.HasPrefix(head, "import ("):
			inImport = true
		case lang.imports().MatchString(head):
			imports++
		case lang.decls().MatchString(head):
			if declared++; declared <= most {
				decls = append(decls, "  "+prose.Number(n)+": "+signature(head))
			}
		}
	}
	if pkg != "" {
		e.out.add(pkg)
	}
	if imports > 0 {
		e.out.add(plural(imports, "import"))
	}
	e.out.addf("%s at the top level:", plural(declared, "declaration"))
	e.out.addAll(decls)
	if declared == 0 {
		e.excerpt()
	}
}

// signature cuts a declaration before its body.
func signature(line string) string {
	line = strings.TrimRight(line, " \t")
	for _, end := range []string{" {", "{", ":", " =>"} {
		if s, ok := strings.CutSuffix(line, end); ok {
			line = s
			break
		}
	}
	return clip(line, 160)
}

// signs are lines that tell a language, and how much each says. The first that
// matches a line counts.
var signs = []struct {
	kind  string
	score int
	line  func() *regexp.Regexp
}{
	{kindPython, 1000, lazyregexp.New(`^#!.*python`)},
	{kindJavaScript, 1000, lazyregexp.New(`^#!.*node`)},
	{kindGo, 2, lazyregexp.New(`^package \s*\S*[^;\s]\s*$`)},
	{kindGo, 1, lazyregexp.New(`^func .*\{$`)},
	{kindPython, 2, lazyregexp.New(`^(?:def|class) .*:$`)},
	{kindPython, 2, lazyregexp.New(`^from .* import `)},
	{kindRust, 2, lazyregexp.New(`^(?:use .*;$|fn |pub fn )`)},
	{kindTypeScript, 2, lazyregexp.New(`^(?:interface .*\{$|export (?:interface|type) )`)},
	{kindJavaScript, 2, lazyregexp.New(`^(?:import .* from |const .*require\()`)},
	{kindPython, 1, lazyregexp.New(`^import \s*[^\s"]+\s*$`)},
}

// sniffCode tells a language from the first lines of a text, or "".
func sniffCode(lines [][]byte) string {
	score := map[string]int{}
	for _, l := range lines {
		l = l[:min(len(l), 200)]
		for _, s := range signs {
			if s.line().Match(l) {
				score[s.kind] += s.score
				break
			}
		}
	}
	if score[kindTypeScript] > 0 {
		score[kindTypeScript] += score[kindJavaScript]
	}
	best, most := "", 1
	for _, kind := range []string{kindGo, kindPython, kindTypeScript, kindRust, kindJavaScript} {
		if score[kind] > most {
			best, most = kind, score[kind]
		}
	}
	return best
}
