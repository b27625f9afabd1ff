package browsertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestScroll scrolls through a long session from its beginning to its end. It checks
// that no message is left out, that the page keeps few of them, and that the memory of
// the page stays bounded. UI_MESSAGES sets the length.
func TestScroll(t *testing.T) {
	length := 5000
	if n, err := strconv.Atoi(os.Getenv("UI_MESSAGES")); err == nil {
		length = n
	}
	var lines bytes.Buffer
	for i := range length {
		role := []string{"user", "assistant"}[i%2]
		fmt.Fprintf(&lines, `{"role":%q,"content":"Message number %d of a long session, with **some** words about parcels and a list:\n\n- one\n- two","id":"m%d","timestamp":%q}`+"\n",
			role, i+1, i+1, time.Date(2026, 1, 1, 0, 0, i*20, 0, time.UTC).Format(time.RFC3339))
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(serve(t, path))
	b.visit("/session/1")
	b.run(chromedp.Evaluate(`
		window.seen = new Set(); window.most = 0; window.heap = 0; window.slow = 0; window.frames = 0;
		let last = performance.now();
		const frame = (now) => {
			frames++;
			if (now - last > 200) slow++;
			last = now;
			const all = document.querySelectorAll('.message');
			for (const m of all) seen.add(+m.dataset.seq);
			most = Math.max(most, all.length);
			heap = Math.max(heap, performance.memory.usedJSHeapSize);
			scrollBy(0, innerHeight * 2);
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame); 0`, nil))
	deadline := time.Now().Add(8 * time.Minute)
	for eval[int](b, `seen.size`) < length && time.Now().Before(deadline) {
		time.Sleep(300 * time.Millisecond)
	}
	seen, most, heap := eval[int](b, `seen.size`), eval[int](b, `most`), eval[float64](b, `heap`)/1e6
	t.Logf("%d messages seen, at most %d in the page, heap at most %.1f MB, %d of %d frames above 200 ms", seen, most, heap, eval[int](b, `slow`), eval[int](b, `frames`))
	if seen != length {
		t.Errorf("%d of %d messages were shown", seen, length)
	}
	if most > 400 {
		t.Errorf("the page kept %d messages", most)
	}
	if heap > 200 {
		t.Errorf("the heap grew to %.0f MB", heap)
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
