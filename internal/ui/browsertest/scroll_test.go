package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestScroll drags the scroll bar through the generated session, from its first message
// to its last: whenever the page has added messages, it goes on to the new end. Then it
// turns the wheel at five places. It checks that every message was shown, that the
// page keeps few of them, that its memory stays below 200 MB, and that frames come in
// time. Rendering 40 messages takes Chromium 50 ms of processor time, so 100,000 messages
// take some minutes; the test fails only if nothing is added for ten of them.
func TestScroll(t *testing.T) {
	r := &record{t: t, db: env(t, "UI_RECORD"), home: t.TempDir()}
	r.start()
	b := open(r)
	b.visit("/session/1")
	length := eval[int](b, `+document.querySelector('#messages').dataset.total`)
	b.run(chromedp.Evaluate(`
		window.seen = new Set(); window.windows = 0; window.most = 0; window.heap = 0;
		const list = document.querySelector('#messages');
		const note = (nodes) => { for (const n of nodes) if (n.dataset?.seq) seen.add(+n.dataset.seq); };
		const toTheEnd = () => {
			windows++;
			most = Math.max(most, list.querySelectorAll('.message').length);
			heap = Math.max(heap, performance.memory.usedJSHeapSize);
			scrollTo(0, document.documentElement.scrollHeight);
		};
		note(list.children);
		new MutationObserver((all) => { all.forEach((m) => note(m.addedNodes)); toTheEnd(); }).observe(list, {childList: true});
		toTheEnd(); 0`, nil))
	begin := time.Now()
	seen := 0
	for last := begin; seen < length && time.Since(last) < 10*time.Minute; time.Sleep(time.Second) {
		n := 0
		// A browser that gets no processor time for a while does not answer.
		if err := b.try(time.Minute, chromedp.Evaluate(`seen.size`, &n)); err == nil && n > seen {
			seen, last = n, time.Now()
		}
	}
	most, heap := eval[int](b, `most`), eval[float64](b, `heap`)/1e6
	t.Logf("%d messages in %d windows, in %v; at most %d in the page, heap at most %.1f MB", seen, eval[int](b, `windows`), time.Since(begin).Round(time.Second), most, heap)
	if seen != length {
		t.Errorf("%d of %d messages were shown", seen, length)
	}
	if most > 400 {
		t.Errorf("the page kept %d messages", most)
	}
	if heap > 200 {
		t.Errorf("the heap grew to %.0f MB", heap)
	}
	// A wheel moves by 100 to 200 pixels a frame.
	for _, tenth := range []int{1, 3, 5, 7, 9} {
		b.visit(fmt.Sprintf("/session/1?at=%d", length*tenth/10))
		b.run(chromedp.Evaluate(`
			window.frames = [];
			let last = performance.now();
			const frame = (now) => { frames.push(now - last); last = now; scrollBy(0, 150); if (frames.length < 200) requestAnimationFrame(frame); };
			requestAnimationFrame(frame); 0`, nil))
		b.until(`frames.length === 200`)
		wheel := frames(b)
		t.Logf("frames in ms with a wheel at %d/10: %v", tenth, wheel)
		if wheel[0] > 100 { // the slowest frames are those of other programs on a busy machine
			t.Errorf("every other frame takes %.0f ms or more", wheel[0])
		}
	}
	// Upwards, the messages before the first one of the page are loaded.
	b.visit(fmt.Sprintf("/session/1?at=%d", length))
	for range 4 {
		first := eval[int](b, `+document.querySelector('.message').dataset.seq`)
		b.run(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
		b.until(fmt.Sprintf(`+document.querySelector('.message').dataset.seq < %d`, first))
	}
	b.clean()
}

// frames returns the median, the 95th percentile and the maximum of the times between
// frames.
func frames(b *browser) []float64 {
	b.t.Helper()
	return eval[[]float64](b, `(() => { const f = frames.toSorted((x, y) => x - y); return [f[f.length >> 1], f[Math.floor(f.length * 0.95)], f.at(-1)].map(Math.round); })()`)
}
