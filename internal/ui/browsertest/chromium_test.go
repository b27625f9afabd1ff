// Package browsertest drives the pages of `lcm ui` in Chromium, as a user would: with
// the mouse and the keyboard, on the bundled session and on a generated one of 100,000
// messages. `make ui-test` runs it.
package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
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

// chromium is the browser that all tests share. Each test has a window of its own,
// with its own cookies and cache.
var chromium struct {
	sync.Mutex
	ctx     context.Context
	profile string
	// outside are the hosts that were asked for. The browser sends everything that
	// is not for this machine to a proxy, which refuses it.
	outside []string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := closeChromium(); err != nil {
		fmt.Fprintln(os.Stderr, "chromium:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// startChromium starts the browser, once.
func startChromium(t *testing.T) context.Context {
	t.Helper()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go refuseAll(proxy)
	if chromium.profile, err = os.MkdirTemp("", "lcm-ui-test-*"); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.ExecPath(env(t, "CHROMIUM")), chromedp.UserDataDir(chromium.profile), chromedp.WindowSize(1280, 900),
		chromedp.ProxyServer("http://"+proxy.Addr().String()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("enable-precise-memory-info", true), chromedp.WSURLReadTimeout(2*time.Minute))
	alloc, _ := chromedp.NewExecAllocator(context.Background(), options...)
	chromium.ctx, _ = chromedp.NewContext(alloc)
	if err := chromedp.Run(chromium.ctx); err != nil {
		t.Fatal(err)
	}
	return chromium.ctx
}

// refuseAll notes which hosts the browser asks for.
func refuseAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil && !browserService(r.URL.Hostname()) {
			chromium.Lock()
			chromium.outside = append(chromium.outside, r.Method+" "+r.Host)
			chromium.Unlock()
		}
		_, _ = c.Write([]byte("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
		_ = c.Close()
	}
}

// browserService reports whether a host is one that Chromium itself asks, for
// updates and for filling in forms. No page names it.
func browserService(host string) bool {
	return slices.ContainsFunc([]string{".google.com", ".googleapis.com", ".gvt1.com", ".gstatic.com"}, func(domain string) bool { return strings.HasSuffix(host, domain) })
}

// closeChromium waits for the end of the browser and removes its profile, to which
// its helper processes write for a while yet.
func closeChromium() error {
	if chromium.ctx == nil {
		return nil
	}
	err := chromedp.Cancel(chromium.ctx)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if gone := os.RemoveAll(chromium.profile); gone == nil || time.Now().After(end) {
			return errors.Join(err, gone)
		}
	}
}

// browser is a window that has opened the link of a server.
type browser struct {
	*record
	ctx context.Context

	mu     sync.Mutex
	asked  []string // requests to other addresses
	faults []string // console errors, exceptions, refusals by the policy
}

// open opens a window with an empty cache.
func open(r *record) *browser {
	r.t.Helper()
	shared := startChromium(r.t)
	direct := cdp.WithExecutor(shared, chromedp.FromContext(shared).Browser)
	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(direct)
	if err != nil {
		r.t.Fatal(err)
	}
	// chromedp.WithNewBrowserContext makes a tab, for which Chromium wants a window.
	tab, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(direct)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(shared, chromedp.WithTargetID(tab))
	ctx, late := context.WithTimeout(ctx, 80*time.Minute)
	r.t.Cleanup(func() { late(); cancel(); _ = target.DisposeBrowserContext(profile).Do(direct) })
	b := &browser{record: r, ctx: ctx}
	chromedp.ListenTarget(ctx, b.notice)
	if err := chromedp.Run(ctx); err != nil { // attaches the window until ctx ends
		r.t.Fatal(err)
	}
	b.run(network.Enable(), log.Enable(), audits.Enable(), chromedp.Navigate(r.link), chromedp.WaitVisible(".bar"))
	return b
}

// notice keeps what should not happen.
func (b *browser) notice(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		own := strings.HasPrefix(e.Request.URL, b.base+"/") || strings.HasPrefix(e.Request.URL, "data:,") || strings.HasPrefix(e.Request.URL, "file:") || e.Request.URL == "about:blank"
		if !own {
			b.asked = append(b.asked, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && !strings.Contains(e.Entry.Text, "404") {
			b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			details, _ := json.Marshal(e.Issue.Details)
			b.faults = append(b.faults, "content security policy: "+string(details))
		}
	}
}

// troubles returns what should not have happened since it was called last: requests
// to other hosts, errors and reports of the policy.
func (b *browser) troubles() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	chromium.Lock()
	defer chromium.Unlock()
	all = append(append(append(all, b.asked...), b.faults...), chromium.outside...)
	b.asked, b.faults, chromium.outside = nil, nil, nil
	return all
}

// clean fails if the page asked another host, or if something went wrong in it.
func (b *browser) clean() {
	b.t.Helper()
	if all := b.troubles(); len(all) > 0 {
		b.t.Errorf("requests to other hosts, and faults: %q", all)
	}
}

// try runs actions. One that waits for a page which has gone ends after a time.
func (b *browser) try(d time.Duration, actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, d)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.try(time.Minute, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a page and waits until it has loaded its parts.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.base + path))
	b.until(`document.querySelector('main h1, main #results, #messages') && !document.querySelector('[data-load]')`)
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// until waits until an expression is true. The page may be replaced meanwhile.
func (b *browser) until(expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		yes := false
		if last = b.try(10*time.Second, chromedp.Evaluate("!!("+expression+")", &yes)); yes {
			return
		}
	}
	b.t.Fatalf("never became true: %s (%v)\n%s", expression, last, eval[string](b, "location.href + '\\n' + document.body.innerText.slice(0, 1500)"))
}

// click clicks an element with the mouse, scrolling it into the view first.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(`document.querySelector(` + quoted(selector) + `)`)
	at := eval[[]float64](b, `(() => { const e = document.querySelector(`+quoted(selector)+`); e.scrollIntoView({block: 'nearest'}); const r = e.getClientRects()[0]; return [r.left + Math.min(r.width / 2, 30), r.top + r.height / 2]; })()`)
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

func quoted(text string) string { q, _ := json.Marshal(text); return string(q) }
