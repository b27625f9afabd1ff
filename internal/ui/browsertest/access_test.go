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
	{"home", "/"}, {"session", "/session/1?at=80"}, {"summary", ""}, {"panel", "/session/1?at=200"}, {"message", "/message/msg_400"}, {"search", "/search?q=interval"},
	{"context", "/session/1/context?at=400&budget=16000"}, {"ask", "/ask?q=When+was+the+polling+interval+decided%3F"}, {"map", "/session/1/map"}, {"notfound", "/nowhere"},
	{"activity", "/activity"}, {"counts", "/search/counts?q=interval"}, {"tools", "/search/tools?q=interval"},
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
		pages[2].path = eval[string](b, `document.querySelector('.icicle a[data-panel]').getAttribute('href')`)
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
				if shift, moved := b.shift(); shift > 0.1 && p.name != "panel" { // the user opens the panel
					t.Errorf("%s: the layout shift is %.3f: %s", name, shift, moved)
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
