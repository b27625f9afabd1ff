package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// pages are looked at by axe-core, measured and photographed.
var pages = []struct{ name, path string }{
	{"home", "/"}, {"session", "/session/1?at=80"}, {"summary", ""}, {"panel", "/session/1?at=200"}, {"beside", ""}, {"message", "/message/msg_400"}, {"search", "/search?q=interval"}, {"answer", "/search?q=what+is+the+interval"}, {"why", "/why?file=internal/ingest/fingerprint.go&session=1"},
	{"context", "/session/1/context?at=400&budget=16000"}, {"map", "/session/1/map"}, {"notfound", "/nowhere"},
}

// nameSummary completes the paths of the pages that show a summary, from the page of a
// session.
func nameSummary(b *browser) {
	b.t.Helper()
	path := eval[string](b, `document.querySelector('.icicle a[data-panel]').getAttribute('href')`)
	for i, p := range pages {
		switch p.name {
		case "summary":
			pages[i].path = path
		case "beside":
			pages[i].path = "/session/1?at=200&summary=" + strings.TrimPrefix(path, "/summary/")
		}
	}
}

// shift returns the cumulative layout shift of a page, and the elements that moved.
func (b *browser) shift() (float64, string) {
	b.t.Helper()
	r := eval[struct {
		Sum   float64
		Moved []string
	}](b, `new Promise(done => {
		let sum = 0, moved = [];
		new PerformanceObserver(l => {
			for (const e of l.getEntries()) {
				if (e.hadRecentInput) continue;
				sum += e.value;
				for (const s of e.sources) moved.push(e.value.toFixed(3) + ' at ' + e.startTime.toFixed() + ' ms: ' + s.previousRect.y.toFixed() + ' → ' + s.currentRect.y.toFixed() + ' ' + (s.node?.outerHTML || s.node?.textContent || '').slice(0, 90));
			}
		}).observe({type: 'layout-shift', buffered: true});
		setTimeout(() => done({sum, moved}), 100);
	})`)
	return r.Sum, strings.Join(r.Moved, "\n")
}

// TestNothingMoves loads every page with an empty cache over a slow line, so that the
// style, the script and the parts that are loaded later arrive apart.
func TestNothingMoves(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		b.visit("/session/1")
		nameSummary(b)
		for _, width := range []int64{1280, 400} {
			b.run(emulation.SetDeviceMetricsOverride(width, 900, 1, false), network.SetCacheDisabled(true),
				network.EmulateNetworkConditions(false, 150, 200_000, 200_000), emulation.SetCPUThrottlingRate(2))
			for _, p := range pages {
				if p.name == "panel" {
					continue // the user opens it
				}
				b.visit(p.path)
				time.Sleep(300 * time.Millisecond)
				shift, moved := b.shift()
				t.Logf("%s at %d pixels: %.3f", p.name, width, shift)
				if shift > 0.1 {
					t.Errorf("%s at %d pixels: the layout shift is %.3f:\n%s", p.name, width, shift, moved)
				}
			}
		}
		b.clean()
	})
}

// look takes a screenshot of the page, if they are wanted, and checks that nothing is
// wider than the screen, that nothing has moved, and that axe-core finds nothing. The
// explanations of words are open for axe-core.
func (b *browser) look(name string, width int64, moves bool) {
	b.t.Helper()
	axe, err := os.ReadFile(env(b.t, "AXE"))
	if err != nil {
		b.t.Fatal(err)
	}
	if shots := os.Getenv("SHOTS"); shots != "" {
		b.shoot(filepath.Join(shots, name+".png"))
	}
	if shift, moved := b.shift(); shift > 0.1 && !moves {
		b.t.Errorf("%s: the layout shift is %.3f: %s", name, shift, moved)
	}
	b.run(chromedp.Evaluate(`document.querySelectorAll('.terms').forEach((d) => { d.open = true; })`, nil), chromedp.Evaluate(string(axe), nil))
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
		b.t.Errorf("%s is %d pixels wide", name, wide)
	}
	found := eval[[]struct {
		ID    string
		Help  string
		Nodes []string
	}](b, `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message || ''))})))`)
	for _, v := range found {
		b.t.Errorf("%s: %s: %s\n%s", name, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
	}
}

// shoot writes a screenshot of the page.
func (b *browser) shoot(path string) {
	b.t.Helper()
	var png []byte
	b.run(chromedp.CaptureScreenshot(&png))
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestScreenshot makes the picture in the README: scripts/screenshot.sh runs it.
func TestScreenshot(t *testing.T) {
	path := os.Getenv("SCREENSHOT")
	if path == "" {
		t.Skip("SCREENSHOT names no file")
	}
	b := sessions(t)
	b.run(emulation.SetDeviceMetricsOverride(1400, 800, 1, false))
	b.visit("/session/1?at=200")
	summary := eval[string](b, `[...document.querySelectorAll('.icicle a[data-panel]:has(rect.d0)')].findLast(a => +a.firstElementChild.getAttribute('y') <= +document.querySelector('.here').getAttribute('y')).getAttribute('href')`)
	b.visit("/session/1?at=200&summary=" + strings.TrimPrefix(summary, "/summary/"))
	b.shoot(path)
}

// inEach runs a function in light and dark, at 1,400, 800 and 390 pixels.
func (b *browser) inEach(look func(scheme string, width int64)) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1400, 800, 390} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				emulation.SetDeviceMetricsOverride(width, 900, 1, false))
			look(scheme, width)
		}
	}
}

// TestAccessible runs axe-core on every page in light and dark, at 1,400, 800 and 390
// pixels, and checks that nothing moves and nothing is wider than the screen.
func TestAccessible(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1")
	nameSummary(b)
	b.inEach(func(scheme string, width int64) {
		for _, p := range pages {
			b.visit(p.path)
			if p.name == "panel" {
				b.run(chromedp.Evaluate(`document.querySelector('.icicle a[data-panel]').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))`, nil))
				b.until(`document.querySelector('#panel h1')`)
				if !eval[bool](b, `(() => { const p = document.querySelector('#panel'); p.scrollTop = 1e6; const end = p.getBoundingClientRect().bottom, more = p.scrollTop > 0; p.scrollTop = 0; return more && end <= innerHeight; })()`) {
					t.Errorf("at %d pixels the panel does not scroll to its end", width)
				}
			}
			b.look(fmt.Sprintf("%s-%s-%d", p.name, scheme, width), width, p.name == "panel") // the user opens the panel
		}
	})
	b.clean()
}

// TestEmptyRecord looks at the pages of a record without sessions: its only one was
// forgotten.
func TestEmptyRecord(t *testing.T) {
	r := empty(t)
	path := filepath.Join(r.home, "session.jsonl")
	if err := os.WriteFile(path, []byte(`{"role":"user","content":"one message","id":"1","timestamp":"2026-02-18T10:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.lcm("import", path)
	r.lcm("forget", "1", "--yes")
	r.start()
	b := open(r)
	b.inEach(func(scheme string, width int64) {
		for name, path := range map[string]string{"home": "/", "search": "/search?q=interval", "nosearch": "/search"} {
			b.visit(path)
			b.look(fmt.Sprintf("empty-%s-%s-%d", name, scheme, width), width, false)
		}
	})
	b.clean()
}
