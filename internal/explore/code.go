package explore

import (
	"bytes"
	"strings"

	"github.com/lossless-context/lcm/internal/prose"
)

// language says how the lines of a programming language begin that matter to
// a reader who looks for something: declarations at the top level.
type language struct {
	title   string
	decls   []string // beginnings of declarations
	prefix  []string // words that may stand before them
	imports []string // beginnings of imports
}

var languages = map[string]language{
	kindGo: {"Go source", []string{"func ", "type ", "const ", "var "}, nil, []string{"import \""}},
	kindPython: {"Python source", []string{"def ", "class "}, []string{"async "},
		[]string{"import ", "from "}},
	kindJavaScript: {"JavaScript source", []string{"function ", "function* ", "class ", "const ", "let ", "var ", "module.exports"},
		[]string{"export ", "default ", "async "}, []string{"import "}},
	kindTypeScript: {"TypeScript source", []string{"function ", "function* ", "class ", "interface ", "type ", "enum ", "namespace ", "const ", "let "},
		[]string{"export ", "default ", "declare ", "abstract ", "async "}, []string{"import "}},
	kindRust: {"Rust source", []string{"fn ", "struct ", "enum ", "trait ", "impl ", "impl<", "mod ", "type ", "const ", "static ", "macro_rules! ", "union "},
		[]string{"pub ", "pub(crate) ", "pub(super) ", "async ", "unsafe ", "const ", "extern \"C\" "}, []string{"use ", "extern crate "}},
}

// code describes source code: its package, how much it imports, and the
// signatures of what it declares at the top level, with line numbers.
func (e *explorer) code(kind string) {
	lang := languages[kind]
	e.title(lang.title)
	imports, more := 0, 0
	type decl struct {
		n    int
		text string
	}
	var decls []decl
	pkg, inImport := "", false
	eachLine(e.data, func(n int, line []byte) bool {
		if inImport {
			// The grouped imports of Go, up to the closing bracket.
			if inImport = !bytes.HasPrefix(line, []byte{')'}); inImport && bytes.IndexByte(line, '"') >= 0 {
				imports++
			}
			return true
		}
		if len(line) == 0 || line[0] == ' ' || line[0] == '}' || line[0] == '/' {
			return true
		}
		head := string(line[:min(len(line), maxLine)])
		switch {
		case kind == kindGo && pkg == "" && strings.HasPrefix(head, "package "):
			pkg = strings.TrimSpace(head)
		case kind == kindGo && strings.HasPrefix(head, "import ("):
			inImport = true
		case hasAnyPrefix(head, lang.imports):
			imports++
		case lang.declares(head, kind):
			if len(decls) < 400 {
				decls = append(decls, decl{n, signature(head)})
			} else {
				more++
			}
		}
		return true
	})
	if pkg != "" {
		e.out.add(pkg)
	}
	if imports > 0 {
		e.out.add(plural(imports, "import"))
	}
	e.out.addf("%s at the top level:", plural(len(decls)+more, "declaration"))
	for _, d := range decls {
		if !e.out.add("  " + prose.Number(d.n) + ": " + d.text) {
			break
		}
	}
	if len(decls) == 0 {
		e.excerpt()
	}
}

// declares reports whether a line at the top level declares something that is
// called by name: constants and variables count only where they hold code.
func (l language) declares(line, kind string) bool {
	for again := true; again; {
		again = false
		for _, p := range l.prefix {
			if rest, ok := strings.CutPrefix(line, p); ok && hasWord(rest) {
				if p == "const " && !strings.HasPrefix(rest, "fn ") {
					continue
				}
				line, again = rest, true
			}
		}
	}
	if !hasAnyPrefix(line, l.decls) {
		return false
	}
	if kind == kindJavaScript || kind == kindTypeScript {
		if hasAnyPrefix(line, []string{"const ", "let ", "var "}) {
			return strings.Contains(line, "=>") || strings.Contains(line, "= function") || strings.Contains(line, "= async") || strings.Contains(line, "= class")
		}
	}
	return true
}

func hasWord(s string) bool { return strings.TrimSpace(s) != "" }

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
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

// sniffCode tells a language from the first lines of a text, or "".
func sniffCode(lines [][]byte) string {
	score := map[string]int{}
	for _, l := range lines {
		s := string(l[:min(len(l), 200)])
		switch {
		case strings.HasPrefix(s, "#!") && strings.Contains(s, "python"):
			return kindPython
		case strings.HasPrefix(s, "#!") && strings.Contains(s, "node"):
			return kindJavaScript
		case strings.HasPrefix(s, "package ") && len(strings.Fields(s)) == 2 && !strings.HasSuffix(s, ";"):
			score[kindGo] += 2
		case strings.HasPrefix(s, "func ") && strings.HasSuffix(s, "{"):
			score[kindGo]++
		case (strings.HasPrefix(s, "def ") || strings.HasPrefix(s, "class ")) && strings.HasSuffix(s, ":"):
			score[kindPython] += 2
		case strings.HasPrefix(s, "from ") && strings.Contains(s, " import "):
			score[kindPython] += 2
		case strings.HasPrefix(s, "use ") && strings.HasSuffix(s, ";"), strings.HasPrefix(s, "fn "), strings.HasPrefix(s, "pub fn "):
			score[kindRust] += 2
		case strings.HasPrefix(s, "interface ") && strings.HasSuffix(s, "{"), strings.HasPrefix(s, "export interface "), strings.HasPrefix(s, "export type "):
			score[kindTypeScript] += 2
		case strings.HasPrefix(s, "import ") && strings.Contains(s, " from "), strings.HasPrefix(s, "const ") && bytes.Contains(l, []byte("require(")):
			score[kindJavaScript] += 2
		case strings.HasPrefix(s, "import ") && len(strings.Fields(s)) == 2 && !strings.Contains(s, "\""):
			score[kindPython]++
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
