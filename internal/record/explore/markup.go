package explore

import (
	"bytes"
	"sort"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/prose"
)

// markup describes XML and HTML: the root, the title, and which elements
// there are how often.
func (e *explorer) markup() {
	e.title(strings.ToUpper(e.name))
	counts := map[string]int{}
	var order []string
	for i := 0; i < len(e.data); {
		next := bytes.IndexByte(e.data[i:], '<')
		if next < 0 {
			break
		}
		i += next + 1
		name := tagName(e.data[i:])
		if i += len(name); name == "" {
			i += skipMarkup(e.data[i:])
			continue
		}
		if e.name == kindHTML {
			name = strings.ToLower(name)
		}
		if counts[name] == 0 {
			if len(order) >= 400 {
				continue
			}
			order = append(order, name)
		}
		counts[name]++
	}
	if len(order) > 0 {
		e.out.add("root: " + order[0])
	}
	if m := title().FindSubmatch(e.data[:min(len(e.data), 1<<20)]); e.name == kindHTML && m != nil {
		e.heading("title: ", m[1])
	}
	e.elements(order, counts)
	if e.name == kindHTML {
		for _, m := range heading().FindAllSubmatch(e.data[:min(len(e.data), 4<<20)], 20) {
			e.heading(strings.Repeat("  ", int(m[1][0]-'0')), m[2])
		}
	}
}

var (
	title    = lazyregexp.New(`(?s)<title[^>]*>(.*?)</title`)
	heading  = lazyregexp.New(`(?s)<h([1-3])[^>]*>(.*?)</h`)
	tagInner = lazyregexp.New(`<[^>]*>?`)
)

// heading writes a heading without the tags inside it, after a label.
func (e *explorer) heading(label string, inner []byte) {
	inner = tagInner().ReplaceAll(inner[:min(len(inner), 2000)], nil)
	if text := oneLine(inner, 120); text != "" {
		e.out.add(label + text)
	}
}

// tagName is the name of the element that begins at b, "" for anything else.
func tagName(b []byte) string {
	n := 0
	for n < len(b) && n < 64 && (isLetter(b[n]) || n > 0 && (b[n] >= '0' && b[n] <= '9' || bytes.IndexByte([]byte("-_:."), b[n]) >= 0)) {
		n++
	}
	return string(b[:n])
}

// skipMarkup measures a comment, a section or an instruction at b.
func skipMarkup(b []byte) int {
	for _, m := range []struct{ open, end string }{{"!--", "-->"}, {"![CDATA[", "]]>"}, {"?", "?>"}} {
		if bytes.HasPrefix(b, []byte(m.open)) {
			if i := bytes.Index(b, []byte(m.end)); i >= 0 {
				return i + len(m.end)
			}
			return len(b)
		}
	}
	return 0
}

// elements lists the names of elements, the most frequent first.
func (e *explorer) elements(order []string, counts map[string]int) {
	if len(order) == 0 {
		e.excerpt()
		return
	}
	sort.SliceStable(order, func(i, j int) bool { return counts[order[i]] > counts[order[j]] })
	var list []string
	for _, name := range order[:min(len(order), 30)] {
		list = append(list, name+" "+prose.Number(counts[name]))
	}
	line := "elements: " + strings.Join(list, ", ")
	for len(line) > maxLine {
		cut := strings.LastIndex(line[:maxLine], ", ")
		if cut < 0 || !e.out.add(line[:cut+1]) {
			return
		}
		line = "  " + line[cut+2:]
	}
	e.out.add(line)
	if len(order) > 30 {
		e.out.addf("  … and %s", plural(len(order)-30, "more name"))
	}
}

// keys describes YAML and TOML: documents, sections and top-level keys.
func (e *explorer) keys() {
	e.title(strings.ToUpper(e.name))
	var keys []string
	total, documents := 0, 1
	for n, line := range lines(e.data) {
		if e.name == kindYAML && bytes.HasPrefix(line, []byte("---")) {
			if total > 0 {
				documents++
			}
			continue
		}
		key := topKey(line, e.name)
		if key == "" {
			continue
		}
		if total++; len(keys) < 60 {
			keys = append(keys, "  "+prose.Number(n)+": "+key)
		}
	}
	if documents > 1 {
		e.out.add(plural(documents, "document"))
	}
	if total == 0 {
		e.excerpt()
		return
	}
	e.out.add(plural(total, "top-level key") + ":")
	e.out.addAll(keys)
}

// topKey is the key or the section that a line at the top level opens.
func topKey(line []byte, kind string) string {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == ';' {
		return ""
	}
	if kind == kindTOML && line[0] == '[' {
		return oneLine(line, 80)
	}
	mark, sign := ":", ": "
	if kind == kindTOML {
		mark, sign = "=", " = "
	}
	i := bytes.Index(line, []byte(mark))
	if i <= 0 || i > 100 {
		return ""
	}
	key, value := oneLine(line[:i], 60), oneLine(line[i+1:], 60)
	if value == "" {
		return key
	}
	return key + sign + value
}
