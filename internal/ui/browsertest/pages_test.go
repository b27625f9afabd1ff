package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestHome opens a session with the keyboard.
func TestHome(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		b.visit("/")
		lead := eval[string](b, `document.querySelector('.lead').innerText`)
		if want := fmt.Sprintf("1 session · %s messages", number(s.messages)); len(lead) < len(want) || lead[:len(want)] != want {
			t.Errorf("the page says %q, want %q", lead, want)
		}
		b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("\r"))
		b.until(`location.pathname === '/session/1' && document.querySelector('.message')`)
		b.clean()
	})
}

// number returns a number as the pages write it.
func number(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return number(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// TestSession goes from a block of the map to a summary, down to a message, and
// from the message back up; and scrolls in both directions.
func TestSession(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		b.visit("/session/1")
		id := eval[string](b, `document.querySelector('.icicle a[data-panel]').getAttribute('href')`)
		b.click(".icicle a[data-panel] rect")
		b.until(`!document.querySelector('#panel').hidden && document.querySelector('#panel .expand').innerText.includes('Expand for details about')`)
		for eval[bool](b, `!document.querySelector('#panel a[href*="#msg_"]')`) {
			before := eval[string](b, `document.querySelector('#panel h1').parentElement.innerText`)
			b.run(chromedp.Evaluate(`[...document.querySelectorAll('#panel section')].at(-1).querySelector('a[data-panel]').click()`, nil))
			b.until(`document.querySelector('#panel h1').parentElement.innerText !== ` + quoted(before))
		}
		b.click(`#panel a[href*="#msg_"] .about`)
		b.until(`document.querySelector('.message.focus') && document.querySelector('#panel h1')`) // the summary stays
		b.run(chromedp.KeyEvent(kb.Escape))
		b.until(`document.querySelector('#panel').hidden && !location.search.includes('summary=')`)
		b.run(chromedp.Evaluate(`history.back()`, nil))
		b.until(`!document.querySelector('#panel').hidden && location.search.includes('summary=')`)
		b.run(chromedp.Reload())
		b.until(`document.querySelector('#panel h1') && document.querySelector('.message.focus')`)
		b.click(`.message.focus .id`)
		b.until(`location.pathname.startsWith('/message/') && document.querySelector('a[href="` + id + `"]')`)
		b.visit(fmt.Sprintf("/session/1?at=%d", s.at-100))
		first := eval[int](b, `+document.querySelector('.message').dataset.seq`)
		b.run(chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
		b.until(fmt.Sprintf(`+[...document.querySelectorAll('.message')].at(-1).dataset.seq > %d`, s.at-55))
		b.run(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		b.until(fmt.Sprintf(`+document.querySelector('.message').dataset.seq < %d`, first))
		if !eval[bool](b, `[...document.querySelectorAll('.message')].every((m, i, all) => !i || +m.dataset.seq === +all[i-1].dataset.seq + 1)`) {
			t.Error("scrolling left a gap in the messages, or put them out of order")
		}
		b.visit("/session/1")
		b.click(".map .band") // of the map: the messages of a time
		b.until(`location.search.startsWith('?at=') && document.querySelector('.message.focus')`)
		b.clean()
	})
}

// TestPanelFollowsTheAddress presses Escape, and clicks a second summary, while the first
// one loads: the answer about the first is not shown.
func TestPanelFollowsTheAddress(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1")
	b.run(chromedp.Evaluate(`window.waiting = []; const real = window.fetch;
		window.fetch = async (...args) => { const a = await real(...args); if (String(args[0]).includes('/summary/')) await new Promise((go) => waiting.push(go)); return a; };
		window.links = [...document.querySelectorAll('.icicle a[data-panel]')];
		window.pick = (i) => links[i].dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true })); pick(0)`, nil))
	b.until(`waiting.length === 1`)
	b.run(chromedp.KeyEvent(kb.Escape))
	eval[bool](b, `waiting[0](); new Promise((go) => setTimeout(() => go(true), 200))`)
	if eval[bool](b, `!document.querySelector('#panel').hidden || location.search.includes('summary=')`) {
		t.Error("Escape did not stop a summary that was loading")
	}
	b.run(chromedp.Evaluate(`pick(0)`, nil))
	b.until(`waiting.length === 2`)
	b.run(chromedp.Evaluate(`pick(1)`, nil))
	b.until(`waiting.length === 3`)
	b.run(chromedp.Evaluate(`waiting[2]()`, nil))
	b.until(`document.querySelector('#panel h1')`)
	shown := eval[string](b, `document.querySelector('#panel').innerText`)
	eval[bool](b, `waiting[1](); new Promise((go) => setTimeout(() => go(true), 200))`)
	if now := eval[string](b, `document.querySelector('#panel').innerText`); now != shown {
		t.Errorf("the panel shows the summary that was asked for first:\n%s", now)
	}
	b.clean()
}

// TestLinks opens a message, a summary and a file by their addresses alone.
func TestLinks(t *testing.T) {
	b := sessions(t)
	b.visit("/message/msg_400")
	b.until(`document.querySelector('#msg_400')`)
	summary := eval[string](b, `document.querySelector('.references a[href^="/summary/"]').getAttribute('href')`)
	b.visit(summary)
	b.until(`document.querySelector('.expand')`)
	b.visit("/session/1?at=400#msg_400")
	b.until(`document.querySelector('#msg_400.focus').getBoundingClientRect().top < innerHeight / 2`)
	b.clean()
}

// TestSearchWithTheKeyboard searches as the user types, narrows the search with the
// mouse, and opens a match with the keyboard.
func TestSearchWithTheKeyboard(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		b.visit("/")
		b.run(chromedp.KeyEvent("/"), chromedp.SendKeys("#q", s.word+"\r", chromedp.ByQuery))
		b.until(`location.pathname === '/search' && document.querySelector('.match mark')`)
		if !eval[bool](b, `[...document.querySelectorAll('.match mark')].some(m => m.innerText.toLowerCase().includes(`+quoted(s.word)+`))`) {
			t.Error("no match is marked")
		}
		total := eval[string](b, `document.querySelector('#results .lead').innerText`)
		b.run(chromedp.SendKeys("#q", " "+s.more, chromedp.ByQuery))
		b.until(`location.search.includes(` + quoted(s.more) + `) && document.querySelector('#results .lead').innerText !== ` + quoted(total))
		b.until(`!document.querySelector('[data-load]')`)
		b.run(chromedp.SetValue(`select[name=role]`, "user", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector('select[name=role]').dispatchEvent(new Event('input', {bubbles: true}))`, nil))
		b.until(`location.search.includes('role=user') && [...document.querySelectorAll('.match .role')].every(r => r.innerText === 'user')`)
		b.until(`!document.querySelector('[data-load]')`)
		b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil))
		b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"), chromedp.KeyEvent("\r"))
		b.until(`location.pathname.startsWith('/message/')`)
		b.visit("/search?mode=regex&q=" + s.word[:4] + "%5Ba-z%5D%2B") // [a-z]+
		b.until(`[...document.querySelectorAll('.match mark')].some(m => m.innerText.startsWith(` + quoted(s.word[:4]) + `))`)
		b.run(chromedp.KeyEvent("/"), chromedp.KeyEvent("("))
		b.until(`document.querySelector('#results .note.bad')`)
		b.run(chromedp.KeyEvent(kb.Escape))
		b.until(`document.activeElement === document.body`)
		b.clean()
	})
}

// TestContextSlider moves the budget and reads another context.
func TestContextSlider(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		b.visit(fmt.Sprintf("/session/1/context?at=%d&budget=16000", s.at))
		small := eval[string](b, `document.querySelector('#context .lead').innerText`)
		b.click("[data-for=budget]")
		b.until(`!location.search.includes('16000') && !document.querySelector('#context.busy') && document.querySelector('#context .lead').innerText !== ` + quoted(small))
		if number, slider := eval[string](b, `document.querySelector('#budget').value`), eval[string](b, `document.querySelector('[data-for=budget]').value`); number != slider {
			t.Errorf("the slider is at %s, the number beside it is %s", slider, number)
		}
		b.run(chromedp.SetValue("#budget", "", chromedp.ByQuery), chromedp.SendKeys("#budget", "16000", chromedp.ByQuery))
		b.until(`location.search.includes('budget=16000') && !document.querySelector('#context.busy') && document.querySelector('#context .lead').innerText === ` + quoted(small))
		b.visit(fmt.Sprintf("/session/1/context?at=%d&budget=16000", s.at))
		if n := eval[int](b, `document.querySelectorAll('.shares rect').length`); n < 3 {
			t.Errorf("the bar of tokens has %d parts", n)
		}
		if last := eval[int64](b, `+[...document.querySelectorAll('.seen .message')].at(-1).dataset.seq`); last != s.at {
			t.Errorf("the context ends with message %d, want %d", last, s.at)
		}
		b.clean()
	})
}

// TestWrittenPages opens the files of `lcm show --html` and `lcm show --tree --html`.
func TestWrittenPages(t *testing.T) {
	onEach(t, func(t *testing.T, b *browser, s session) {
		dir := t.TempDir()
		show, tree := filepath.Join(dir, "show.html"), filepath.Join(dir, "tree.html")
		b.lcm("show", "1", "--html", show, "--from", fmt.Sprint(s.at), "--limit", "100")
		b.lcm("show", "1", "--tree", "--html", tree)
		b.run(chromedp.Navigate("file://" + show))
		b.until(fmt.Sprintf(`document.querySelectorAll('.message').length === 100 && document.querySelector('.message').dataset.seq === '%d'`, s.at))
		b.run(chromedp.Navigate("file://" + tree))
		b.until(`document.querySelector('.icicle a[href^="#sum_"]')`)
		id := eval[string](b, `document.querySelector('.icicle a[href^="#sum_"]').getAttribute('href')`)
		b.click(`.icicle a[href^="#sum_"] rect`)
		b.until(`location.hash === ` + quoted(id) + ` && document.querySelector(` + quoted(id) + `).getBoundingClientRect().top < innerHeight`)
		b.clean()
	})
}

// TestLive appends messages with another process while a page is open. A message
// appears within a second of the end of the process that wrote it.
func TestLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	var lines []byte
	add := func(i int) {
		lines = fmt.Appendf(lines, `{"role":"user","content":"message number %d.","id":"live-%d","timestamp":"2026-02-18T10:00:%02dZ"}`+"\n", i, i, i)
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add(1)
	b := open(serve(t, path))
	b.visit("/session/1?at=1")
	b.run(chromedp.Evaluate(`
		window.shown = {};
		new MutationObserver(() => { for (const m of document.querySelectorAll('.message')) shown[m.dataset.seq] ||= performance.timeOrigin + performance.now(); })
			.observe(document.querySelector('#messages'), {childList: true}); 0`, nil))
	var took []time.Duration
	for i := 2; i <= 6; i++ {
		add(i)
		b.lcm("import", path)
		wrote := time.Now()
		b.until(fmt.Sprintf(`shown[%d]`, i))
		took = append(took, time.UnixMicro(int64(1000*eval[float64](b, fmt.Sprintf(`shown[%d]`, i)))).Sub(wrote))
	}
	slices.Sort(took)
	t.Logf("messages appeared %v after the process ended", took)
	if took[len(took)/2] > time.Second {
		t.Errorf("half of the messages appeared after %v", took[len(took)/2])
	}
	if !eval[bool](b, `document.querySelector('#messages').innerText.includes('message number 6.')`) {
		t.Error("the last message is not shown")
	}
	b.clean()
}

// TestKeys moves from the message that an address names, also after the page has loaded
// the messages before it, and shows the keys.
func TestKeys(t *testing.T) {
	b := sessions(t)
	b.visit("/session/1?at=155#msg_155")
	b.until(`+document.querySelector('.message').dataset.seq < 145`)
	b.run(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	if got := eval[string](b, `document.querySelector('.message.current').id`); got != "msg_156" {
		t.Errorf("j j k leads from msg_155 to %s", got)
	}
	b.run(chromedp.KeyEvent("?"))
	b.until(`document.querySelector('#keys').open`)
	b.accessible("keys")
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('#keys').open`)
	b.clean()
}
