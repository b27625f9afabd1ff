package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPayloadsDoNotRun stores texts that attack a page as messages, calls, results,
// tools, titles, agents and summaries, and opens the pages that show them.
func TestPayloadsDoNotRun(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "payloads_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	payloads := goStrings(t, list)
	if len(payloads) < 60 {
		t.Fatalf("there are %d payloads", len(payloads))
	}
	r := empty(t)
	var all bytes.Buffer
	for i, p := range payloads {
		// The session of one payload has it for a title and an agent too.
		path := filepath.Join(r.home, fmt.Sprintf("%d.jsonl", i))
		lines := attack(i, p)
		all.Write(lines)
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		printable := strings.ReplaceAll(strings.ToValidUTF8(p, "?"), "\x00", "")
		r.lcm("import", path, "--session", fmt.Sprintf("s%d", i), "--title="+printable, "--agent="+printable)
	}
	path := filepath.Join(r.home, "all.jsonl")
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r.lcm("import", path, "--session", "all")
	long := len(payloads) + 1
	r.lcm("compact", fmt.Sprint(long), "--budget", "4000")
	r.start()
	b := open(r)
	paths := []string{"/", "/?limit=500", "/search?q=window.hit", "/search?mode=regex&q=evil%5C.example", fmt.Sprintf("/session/%d/map", long),
		fmt.Sprintf("/session/%d/context?budget=8000", long)}
	for i := range payloads {
		paths = append(paths, fmt.Sprintf("/session/%d", i+1))
	}
	for at := 10; at < 3*len(payloads); at += 40 {
		paths = append(paths, fmt.Sprintf("/session/%d?at=%d", long, at))
	}
	b.visit(fmt.Sprintf("/session/%d", long))
	summaries := eval[[]string](b, `[...document.querySelectorAll('.icicle a[data-panel]')].map(a => a.getAttribute('href'))`)
	if len(summaries) < 3 {
		t.Errorf("the payloads have %d summaries", len(summaries))
	}
	for _, path := range append(paths, summaries...) {
		b.visit(path)
		b.run(chromedp.Evaluate(`document.querySelectorAll('details').forEach(d => d.open = true)`, nil))
		time.Sleep(30 * time.Millisecond) // for what would run or be asked for
		if eval[bool](b, `'hit' in window`) {
			t.Errorf("a payload ran on %s", path)
		}
		if all := b.troubles(); len(all) > 0 {
			t.Errorf("%s: %q", path, all)
		}
	}
	t.Logf("%d payloads on %d pages", len(payloads), len(paths)+len(summaries))
}

// TestAddressDoesNotLoadPayloads names a payload in ?summary=, and in a link to the rest of
// a message: its bytes do not become part of the page.
func TestAddressDoesNotLoadPayloads(t *testing.T) {
	r := empty(t)
	path := filepath.Join(r.home, "payload.jsonl")
	content := `<i id="raw"></i><div class="message" id="raw"></div>` + strings.Repeat("filler words ", 20_000)
	if err := os.WriteFile(path, []byte(fmt.Sprintf(`{"role":"user","content":%s}`, quoted(content))), 0o600); err != nil {
		t.Fatal(err)
	}
	r.lcm("import", path)
	r.start()
	b := open(r)
	b.visit("/session/1")
	file := eval[string](b, `document.body.innerHTML.match(/file_[0-9a-f]{16}/)[0]`)
	b.run(chromedp.Evaluate(`window.asked = []; const real = window.fetch;
		window.fetch = (url, ...rest) => { asked.push(String(url)); return real(url, ...rest); };
		addEventListener('popstate', () => { window.back = true; });
		history.pushState(null, '', '?summary=../file/`+file+`/content'); history.pushState(null, '', '?'); history.back(); 0`, nil))
	b.until(`window.back`)
	if asked := eval[[]string](b, `asked.filter((url) => url.includes('/file/'))`); len(asked) > 0 {
		t.Errorf("the address made the page ask for %q", asked)
	}
	b.clean()
	b.run(chromedp.Evaluate(`(() => { const link = document.createElement('a'); link.dataset.whole = ''; link.href = '/file/`+file+`/content';
		document.querySelector('.message').append(link); link.click(); })()`, nil))
	found := ""
	for range 50 {
		if found += strings.Join(b.troubles(), " "); strings.Contains(found, "is not a page") {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if !strings.Contains(found, "is not a page") || eval[bool](b, `!!document.querySelector('#raw')`) {
		t.Errorf("the payload was loaded as a page: %q", found)
	}
}

// attack returns messages, a call and a result with a payload.
func attack(i int, p string) []byte {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	id := func(kind string) string { return fmt.Sprintf("%s%d", kind, i) }
	call := map[string]any{"id": id("c"), "type": "function", "function": map[string]any{"name": "run " + p, "arguments": quoted(p)}}
	for _, m := range []map[string]any{
		{"role": "user", "content": p, "id": id("u")},
		{"role": "assistant", "content": "**see** " + p, "id": id("a"), "tool_calls": []any{call}},
		{"role": "tool", "tool_call_id": id("c"), "name": "run " + p, "content": p + "\n@@ -1 +1 @@\n+" + p, "id": id("t")},
	} {
		_ = out.Encode(m) // it has strings only
	}
	return b.Bytes()
}

// TestTroublesAreSeen checks the checks: a request to another host, a script that the
// policy refuses and an error are found.
func TestTroublesAreSeen(t *testing.T) {
	b := sessions(t)
	for what, script := range map[string]string{
		"evil.example":            `fetch('http://evil.example/').catch(() => 0)`,
		"content security policy": `document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hit = 1'}))`,
		"a mistake":               `setTimeout(() => { throw new Error('a mistake'); }, 0)`,
	} {
		b.visit("/")
		b.clean()
		b.run(chromedp.Evaluate(script+`; 0`, nil))
		found := ""
		for range 50 {
			if found += strings.Join(b.troubles(), " "); strings.Contains(found, what) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if !strings.Contains(found, what) {
			t.Errorf("%s is not among the troubles: %s", what, found)
		}
	}
	// The policy refuses requests of pages. Without it, the proxy sees them.
	b.run(chromedp.Navigate("about:blank"), chromedp.Evaluate(`fetch('http://evil.example/', {mode: 'no-cors'}).catch(() => 0); 0`, nil))
	found := ""
	for range 50 {
		if found += strings.Join(b.troubles(), " "); strings.Contains(found, "GET evil.example") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the proxy has not seen the request: %s", found)
}

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
