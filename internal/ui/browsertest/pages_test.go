// Package browsertest drives the pages of `lcm ui` in Chromium, as a user would:
// with the mouse and the keyboard, on the bundled session. `make ui-test` runs it.
package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// env returns a setting of `make ui-test`, and skips the test without it.
func env(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skipf("%s is not set: run `make ui-test`", name)
	}
	return value
}

// record is a database and a server on it.
type record struct {
	t    *testing.T
	db   string
	link string // works once
	base string
}

// lcm runs the program on the database.
func (r *record) lcm(args ...string) {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), env(r.t, "LCM_BIN"), append([]string{"--db", r.db}, args...)...)
	c.Env, c.Dir = append(os.Environ(), "HOME="+filepath.Dir(r.db)), filepath.Dir(r.db)
	if out, err := c.CombinedOutput(); err != nil {
		r.t.Fatalf("lcm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// serve imports transcripts, folds them and starts `lcm ui`.
func serve(t *testing.T, transcripts ...string) *record {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trackd") // which names the project
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := &record{t: t, db: filepath.Join(dir, "lcm.db")}
	for i, path := range transcripts {
		r.lcm("import", path)
		r.lcm("compact", fmt.Sprint(i+1), "--budget", "16000")
	}
	c := exec.CommandContext(context.WithoutCancel(t.Context()), env(t, "LCM_BIN"), "--db", r.db, "ui", "--no-open")
	c.Env = append(os.Environ(), "HOME="+filepath.Dir(r.db))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r.link = strings.TrimSpace(line)
	u, err := url.Parse(r.link)
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + u.Host
	return r
}

// sample returns the path of the bundled session.
func sample() string {
	path, err := filepath.Abs(filepath.Join("..", "..", "sample", "session.jsonl"))
	if err != nil {
		panic(err)
	}
	return path
}

// browser is a tab that has opened the link.
type browser struct {
	*record
	ctx context.Context

	mu      sync.Mutex
	foreign []string // requests to other hosts
	faults  []string // console errors, exceptions, refusals by the policy
}

func open(r *record) *browser {
	r.t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.ExecPath(env(r.t, "CHROMIUM")), chromedp.UserDataDir(r.t.TempDir()), chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("enable-precise-memory-info", true), chromedp.WSURLReadTimeout(2*time.Minute))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, late := context.WithTimeout(ctx, 10*time.Minute)
	r.t.Cleanup(func() { late(); cancel(); stop() })
	b := &browser{record: r, ctx: ctx}
	chromedp.ListenTarget(ctx, func(e any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := e.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, r.base) && !strings.HasPrefix(e.Request.URL, "data:,") && e.Request.URL != "about:blank" {
				b.foreign = append(b.foreign, e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "404") {
				b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	b.run(network.Enable(), log.Enable(), chromedp.Navigate(r.link), chromedp.WaitVisible(".bar"))
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a page and waits until it has loaded its parts.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.base+path), chromedp.WaitVisible("main h1, main #results, #messages", chromedp.ByQuery))
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for range 150 {
		if eval[bool](b, "!!("+expression+")") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.t.Fatalf("never became true: %s\n%s", expression, eval[string](b, "location.href + '\\n' + document.body.innerText.slice(0, 1500)"))
}

// clean fails if the page asked another host, or if something went wrong in it.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.foreign) > 0 || len(b.faults) > 0 {
		b.t.Errorf("requests to other hosts: %q\nfaults: %q", b.foreign, b.faults)
	}
}

// sessions opens the bundled session in a browser.
func sessions(t *testing.T) *browser { t.Helper(); return open(serve(t, sample())) }

func TestHome(t *testing.T) {
	b := sessions(t)
	b.until(`document.querySelector('.days a')`)
	b.run(emulation.SetDeviceMetricsOverride(400, 900, 1, false))
	b.visit("/")
	b.until(`document.querySelector('.days a')?.getBoundingClientRect().right <= innerWidth`) // the newest days
	b.run(emulation.ClearDeviceMetricsOverride())
	b.run(chromedp.Click(".days a", chromedp.ByQuery))
	b.until(`location.search.startsWith('?day=') && document.querySelector('.sessions .item') && document.querySelector('.days a')`) // the script runs
	b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
	b.until(`location.pathname.startsWith('/session/')`)
	b.clean()
}

// TestSession goes from a block of the map to a summary, down to a message, and
// from the message back up.
func TestSession(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1")
	top := `document.querySelector('.icicle a[data-panel]')`
	id := eval[string](b, top+`.getAttribute('href')`)
	b.run(chromedp.Evaluate(top+`.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))`, nil))
	b.until(`!document.querySelector('#panel').hidden && document.querySelector('#panel .expand').innerText.includes('Expand for details about')`)
	for eval[bool](b, `!!document.querySelector('#panel .references:last-of-type a[data-panel][href^="/summary/"]') && !document.querySelector('#panel a[href*="#msg_"]')`) {
		before := eval[string](b, `document.querySelector('#panel h1').parentElement.innerText`)
		b.run(chromedp.Evaluate(`[...document.querySelectorAll('#panel section')].at(-1).querySelector('a[data-panel]').click()`, nil))
		b.until(`document.querySelector('#panel h1').parentElement.innerText !== ` + quoted(before))
	}
	b.run(chromedp.Click(`#panel a[href*="#msg_"]`, chromedp.ByQuery))
	b.until(`document.querySelector('.message.focus')`)
	b.run(chromedp.Click(`.message.focus .id`, chromedp.ByQuery))
	b.until(`location.pathname.startsWith('/message/') && document.querySelector('a[href="` + id + `"]')`)
	b.visit("/session/1?at=300")
	first := eval[int](b, `+document.querySelector('.message').dataset.seq`)
	b.run(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
	b.until(`+[...document.querySelectorAll('.message')].at(-1).dataset.seq > 345`)
	b.run(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
	b.until(fmt.Sprintf(`+document.querySelector('.message').dataset.seq < %d`, first))
	order := eval[bool](b, `[...document.querySelectorAll('.message')].every((m, i, all) => !i || +m.dataset.seq === +all[i-1].dataset.seq + 1)`)
	if !order {
		t.Error("scrolling left a gap in the messages, or put them out of order")
	}
	b.clean()
}

func quoted(text string) string { q, _ := json.Marshal(text); return string(q) }

func TestSearchWithTheKeyboard(t *testing.T) {
	b := sessions(t)
	b.run(chromedp.KeyEvent("/"), chromedp.SendKeys("#q", "interval\r", chromedp.ByQuery))
	b.until(`location.pathname === '/search' && document.querySelector('.match mark')`)
	total := eval[string](b, `document.querySelector('#results .lead').innerText`)
	b.run(chromedp.SendKeys("#q", " seconds", chromedp.ByQuery))
	b.until(`location.search.includes('seconds') && document.querySelector('#results .lead').innerText !== ` + quoted(total))
	bars := eval[[]float64](b, `(() => { const r = document.querySelector('.histogram svg').getBoundingClientRect(); return [r.left, r.right, r.top + 30]; })()`)
	b.run(chromedp.MouseEvent("mousePressed", bars[0]+5, bars[2], chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent("mouseMoved", (bars[0]+bars[1])/2, bars[2], chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", (bars[0]+bars[1])/2, bars[2], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.until(`location.search.includes('since=') && location.search.includes('before=') && document.querySelector('.match')`)
	b.run(chromedp.Click(`.chips a[href*="role=user"]`, chromedp.ByQuery))
	b.until(`document.querySelector('.chips a[aria-current]') && [...document.querySelectorAll('.match .role')].every(r => r.innerText === 'user')`)
	b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"), chromedp.KeyEvent("\r"))
	b.until(`location.pathname.startsWith('/message/')`)
	b.clean()
}

// TestContextSlider moves the budget and reads another context.
func TestContextSlider(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1/context?at=400&budget=16000")
	small := eval[string](b, `document.querySelector('#context .lead').innerText`)
	b.run(chromedp.Evaluate(`(() => { const s = document.querySelector('#budget'); s.value = 60000; s.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil))
	b.until(`location.search.includes('60000') && !document.querySelector('#context.busy') && document.querySelector('#context .lead').innerText !== ` + quoted(small))
	if n := eval[int](b, `document.querySelectorAll('.shares rect').length`); n < 3 {
		t.Errorf("the bar of tokens has %d parts", n)
	}
	b.clean()
}

func TestAsk(t *testing.T) {
	b := sessions(t)
	b.visit("/ask")
	b.run(chromedp.SendKeys("#question", "When was the polling interval decided?", chromedp.ByQuery), chromedp.Click("#ask-form button", chromedp.ByQuery))
	b.until(`document.querySelector('.citations a[href*="#msg_"]')`)
	b.run(chromedp.Click(`.citations a[href*="#msg_"]`, chromedp.ByQuery))
	b.until(`document.querySelector('.message.focus')?.id === location.hash.slice(1)`)
	b.clean()
}

// TestLive appends a message while a page is open.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "session.jsonl")
	line := func(i int) string {
		return fmt.Sprintf(`{"role":"user","content":"message number %d","id":"live-%d","timestamp":"2026-02-18T10:00:%02dZ"}`+"\n", i, i, i)
	}
	if err := os.WriteFile(path, []byte(line(1)+line(2)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(serve(t, path))
	b.visit("/session/1?at=2")
	if err := os.WriteFile(path, []byte(line(1)+line(2)+line(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.lcm("import", path)
	begin := time.Now()
	b.until(`document.querySelector('#messages').innerText.includes('message number 3')`)
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("the message appeared after %v", took)
	}
	b.clean()
}

// pages are looked at by axe-core, measured and photographed.
var pages = []struct{ name, path string }{
	{"home", "/"}, {"session", "/session/1?at=80"}, {"summary", ""}, {"panel", "/session/1?at=200"}, {"message", "/message/msg_400"}, {"search", "/search?q=interval"},
	{"context", "/session/1/context?at=400&budget=16000"}, {"ask", "/ask?q=When+was+the+polling+interval+decided%3F"}, {"map", "/session/1/map"}, {"notfound", "/nowhere"},
}

// TestAccessible runs axe-core on every page in light and dark, wide and at 400
// pixels, and checks that nothing moves and nothing is wider than the screen.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(env(t, "AXE"))
	if err != nil {
		t.Fatal(err)
	}
	shots := os.Getenv("SHOTS")
	b := sessions(t)
	b.visit("/session/1")
	pages[2].path = eval[string](b, `document.querySelector('.icicle a[data-panel]').getAttribute('href')`)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 400} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(width, 900, 1, false))
			for _, p := range pages {
				name := fmt.Sprintf("%s-%s-%d", p.name, scheme, width)
				b.visit(p.path)
				if p.name == "panel" {
					b.run(chromedp.Evaluate(`document.querySelector('.icicle a[data-panel]').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))`, nil))
					b.until(`document.querySelector('#panel h1')`)
					if !eval[bool](b, `(() => { const p = document.querySelector('#panel'); p.scrollTop = 1e6; const end = p.getBoundingClientRect().bottom, more = p.scrollTop > 0; p.scrollTop = 0; return more && end <= innerHeight; })()`) {
						t.Errorf("at %d pixels the panel does not scroll to its end", width)
					}
				}
				time.Sleep(700 * time.Millisecond) // parts that are loaded later
				if shots != "" {
					var png []byte
					b.run(chromedp.CaptureScreenshot(&png))
					if err := os.WriteFile(filepath.Join(shots, name+".png"), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s is %d pixels wide", name, wide)
				}
				shift := eval[float64](b, `new Promise(done => { let sum = 0; new PerformanceObserver(l => { for (const e of l.getEntries()) if (!e.hadRecentInput) sum += e.value; }).observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 100); })`)
				if shift > 0.1 && p.name != "panel" { // the user opens the panel
					t.Errorf("%s: the layout shift is %.3f", name, shift)
				}
				b.run(chromedp.Evaluate(string(axe), nil))
				found := eval[[]struct {
					ID    string
					Help  string
					Nodes []string
				}](b, `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message || ''))})))`)
				for _, v := range found {
					t.Errorf("%s: %s: %s\n%s", name, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
				}
			}
		}
	}
	b.clean()
}

// TestPayloadsDoNotRun shows messages that attack a page.
func TestPayloadsDoNotRun(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "payloads_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	payloads := goStrings(t, list)
	if len(payloads) < 60 {
		t.Fatalf("there are %d payloads", len(payloads))
	}
	var lines bytes.Buffer
	for i, p := range payloads {
		user, _ := json.Marshal(map[string]any{"role": "user", "content": p, "id": fmt.Sprintf("u%d", i)})
		call, _ := json.Marshal(map[string]any{"role": "assistant", "content": "**see** " + p, "id": fmt.Sprintf("a%d", i),
			"tool_calls": []any{map[string]any{"id": fmt.Sprintf("c%d", i), "type": "function", "function": map[string]any{"name": "run", "arguments": quoted(p)}}}})
		result, _ := json.Marshal(map[string]any{"role": "tool", "tool_call_id": fmt.Sprintf("c%d", i), "content": p + "\n@@ -1 +1 @@\n+" + p, "id": fmt.Sprintf("t%d", i)})
		fmt.Fprintf(&lines, "%s\n%s\n%s\n", user, call, result)
	}
	path := filepath.Join(t.TempDir(), "payloads.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(serve(t, path))
	for _, p := range []string{"/", "/session/1", "/session/1?at=60", "/session/1?at=120", "/session/1?at=190", "/session/1/context?budget=8000", "/search?q=window.hit", "/ask?q=window.hit", "/message/msg_2", "/message/msg_3"} {
		b.visit(p)
		b.run(chromedp.Evaluate(`document.querySelectorAll('details').forEach(d => d.open = true)`, nil))
		time.Sleep(300 * time.Millisecond)
		if eval[bool](b, `'hit' in window`) {
			t.Errorf("a payload ran on %s", p)
		}
	}
	b.clean()
}
