package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestScroll scrolls through the generated session from its beginning to its end, to the
// end of the page in every frame, as a user does who drags the scroll bar. It checks that no message is left out, that the page keeps few of
// them, that its memory stays below 200 MB, and that frames come in time when the user
// scrolls as with a wheel.
func TestScroll(t *testing.T) {
	r := &record{t: t, db: env(t, "UI_RECORD"), home: t.TempDir()}
	r.start()
	b := open(r)
	b.visit("/session/1")
	length := eval[int](b, `+document.querySelector('#messages').dataset.total`)
	b.run(chromedp.Evaluate(`
		window.seen = new Set(); window.most = 0; window.heap = 0; window.frames = [];
		let last = performance.now();
		const frame = (now) => {
			frames.push(now - last);
			last = now;
			const all = document.querySelectorAll('.message');
			for (const m of all) seen.add(+m.dataset.seq);
			most = Math.max(most, all.length);
			heap = Math.max(heap, performance.memory.usedJSHeapSize);
			scrollTo(0, document.documentElement.scrollHeight);
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame); 0`, nil))
	begin := time.Now()
	for at := 0; at < length && time.Since(begin) < 30*time.Minute; at = eval[int](b, `seen.size`) {
		time.Sleep(time.Second)
	}
	seen, most, heap := eval[int](b, `seen.size`), eval[int](b, `most`), eval[float64](b, `heap`)/1e6
	t.Logf("%d messages seen in %v, at most %d in the page, heap at most %.1f MB, frames in ms: %v", seen, time.Since(begin).Round(time.Second), most, heap, frames(b))
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
	b.visit(fmt.Sprintf("/session/1?at=%d", length/2))
	b.run(chromedp.Evaluate(`
		window.frames = [];
		let last = performance.now();
		const frame = (now) => { frames.push(now - last); last = now; scrollBy(0, 150); if (frames.length < 600) requestAnimationFrame(frame); };
		requestAnimationFrame(frame); 0`, nil))
	b.until(`frames.length === 600`)
	wheel := frames(b)
	t.Logf("frames in ms with a wheel: %v", wheel)
	if wheel[0] > 100 { // the slowest frames are those of other programs on a busy machine
		t.Errorf("every other frame takes %.0f ms or more", wheel[0])
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
