package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func init() {
	pages = append(pages, []struct{ name, path string }{
		{"sent", "/session/1/sent"}, {"edit", "/message/msg_168"},
	}...)
}

// accessible runs axe-core on a page as it is now, in light and dark.
func (b *browser) accessible(name string) {
	b.t.Helper()
	axe, err := os.ReadFile(env(b.t, "AXE"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}), chromedp.Evaluate(string(axe), nil))
		for _, v := range eval[[]string](b, `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))))`) {
			b.t.Errorf("%s, %s: %s", name, scheme, v)
		}
	}
}

// fixtures is a directory with the sessions of Claude Code that its importer is
// tested with: one has a sub-agent, and one goes back to an earlier message.
func fixtures(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "hosts", "claude", "testdata", "home", ".claude", "projects"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// visitSession opens a session by its title.
func (b *browser) visitSession(title string) {
	b.t.Helper()
	b.visit("/")
	find := fmt.Sprintf(`[...document.querySelectorAll('.sessions a')].find(a => a.innerText === %s)`, quoted(title))
	b.until(find)
	b.run(chromedp.Evaluate(find+`.click()`, nil))
	b.until(`location.pathname.startsWith('/session/') && document.querySelector('#messages .message')`)
}

// TestLanes goes to a sub-agent and back, and reads a branch that was left.
func TestLanes(t *testing.T) {
	b := open(serve(t, fixtures(t)))
	b.visitSession("Is the build green? play:delegate")
	b.accessible("a session with a sub-agent")
	b.run(chromedp.Click(`.message .aside.agent a`, chromedp.ByQuery))
	b.until(`document.querySelector('h1')?.innerText.includes('Check the build') && document.querySelector('.lanes .note')?.innerText === 'started by'`)
	b.run(chromedp.Click(`.lanes a`, chromedp.ByQuery))
	b.until(`document.querySelector('h1')?.innerText.startsWith('Is the build green?')`)
	b.visit("/")
	b.until(`[...document.querySelectorAll('.sessions a')].filter(a => a.innerText === 'Hello. play:hello').length === 2`)
	b.run(chromedp.Evaluate(`[...document.querySelectorAll('.sessions a')].find(a => a.innerText === 'Hello. play:hello').click()`, nil)) // the newer one
	b.until(`document.querySelector('.message.off .aside.branch')`)
	left := eval[string](b, `[...document.querySelectorAll('.message.off')].map(m => m.innerText).join('\n')`)
	if !strings.Contains(left, "What do the notes say?") || strings.Contains(left, "And the other way?") {
		t.Errorf("on the branch that was left: %q", left)
	}
	b.accessible("a session with a branch")
	b.clean()
}

// TestCallsAreReadable opens an edit and a new file in the conversation.
func TestCallsAreReadable(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1?at=168")
	b.run(chromedp.Click(`#msg_168 summary`, chromedp.ByQuery))
	b.until(`document.querySelector('#msg_168 pre')?.innerText.includes('\nold: func Fingerprint(')`)
	b.visit("/session/1?at=42")
	b.run(chromedp.Click(`#msg_42 summary`, chromedp.ByQuery))
	b.until(`document.querySelector('#msg_42 pre')?.innerText.includes('package carrier\n\nimport')`)
	b.accessible("a session with an open call")
	b.clean()
}

// TestSent sends requests of Claude Code through `lcm run --listen` to a model of its own,
// and reads them on the page.
func TestSent(t *testing.T) {
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"claude-test","content":[{"type":"text","text":"Fine."}],"stop_reason":"end_turn",
			"usage":{"input_tokens":120,"cache_read_input_tokens":1000,"cache_creation_input_tokens":40,"output_tokens":7}}`)
	}))
	t.Cleanup(model.Close)
	r := serve(t, fixtures(t))
	proxy := exec.CommandContext(context.WithoutCancel(t.Context()), env(t, "LCM_BIN"), "--db", r.db, "run", "--listen", "0", "--upstream", "anthropic="+model.URL)
	proxy.Env, proxy.Dir = append(os.Environ(), "HOME="+filepath.Dir(r.db)), filepath.Dir(r.db)
	out, err := proxy.StdoutPipe()
	if err == nil {
		err = proxy.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
	base := ""
	for lines := bufio.NewScanner(out); base == "" && lines.Scan(); {
		if columns := strings.Split(lines.Text(), "\t"); len(columns) > 1 && columns[0] == "anthropic" {
			base = columns[1]
		}
	}
	for range 2 {
		body := `{"model":"claude-test","max_tokens":100,"messages":[{"role":"user","content":"What do the notes say? play:look"}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/messages", bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", "sk-test")
		req.Header.Set("X-Claude-Code-Session-Id", "00000000-0000-4000-8000-000000000008")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil { // a request that is cut off is no request of the run
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if err := proxy.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = proxy.Wait() // its end writes the record of the run
	b := open(r)
	b.visitSession("What do the notes say? play:look")
	b.visit(eval[string](b, `location.pathname`) + "/stored")
	b.until(`document.querySelector('a[href$="/sent"]')`)
	b.run(chromedp.Click(`a[href$="/sent"]`, chromedp.ByQuery))
	b.until(`document.querySelector('main h2')?.innerText === 'Request 2 of 2'`)
	if text := eval[string](b, `document.querySelector('main').innerText`); !strings.Contains(text, "claude-test") || !strings.Contains(text, "counted 120 tokens, 1,000 more read from its cache") || !strings.Contains(text, "input cost 270") {
		t.Errorf("the page says %q", text)
	}
	b.accessible("sent")
	b.run(chromedp.Click(`.tabs a`, chromedp.ByQuery))
	b.until(`location.pathname.endsWith('/stored') && document.querySelector('.tabs')?.innerText.includes('Sent 2')`)
	b.clean()
}
