package proxy_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/proxy"
)

// exec changes the database behind the back of the proxy.
func (b *bed) exec(sql string) *sqlite3.Conn {
	b.t.Helper()
	c, err := sqlite3.Open(filepath.Join(b.dir, "lcm.db"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	for ends := time.Now().Add(time.Minute); ; { // the proxy may be writing
		err := c.Exec(sql)
		if err == nil {
			return c
		}
		if time.Now().After(ends) {
			b.t.Fatal(err)
		}
	}
}

// TestRecordBreaks: the summaries that were shown before the record broke are shown until the
// end of the run, and no request is refused: the proxy could not answer the one for a summary.
func TestRecordBreaks(t *testing.T) {
	for name, breaks := range map[string]func(*bed){
		"closed":  func(b *bed) { b.db.Close() },
		"deleted": func(b *bed) { os.Remove(filepath.Join(b.dir, "lcm.db")) },
		"locked":  func(b *bed) { b.exec("BEGIN IMMEDIATE") },
		"damaged": func(b *bed) { b.exec("UPDATE summaries SET kind = 'x', seal = x'00'") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, func(c *proxy.Config) {
				if name == "closed" || name == "deleted" { // the others can answer, or will
					c.CheckpointBytes = 320_000
				}
			})
			b.play(60)
			shown := b.summariesSent()
			if len(shown) == 0 {
				t.Fatal("there are no summaries: the test proves nothing")
			}
			breaks(b)
			b.server.SetPatience(10 * time.Millisecond)
			for i := 60; i < 100; i++ {
				b.step(i)
				b.flush()
				if status, text := b.send(b.body()); status != http.StatusOK {
					t.Fatalf("step %d: %d %s", i, status, text)
				}
				// A fold that was ready when the record broke may be shown, and a damaged record folds.
				if now := b.summariesSent(); len(now) == 0 || name != "damaged" && i > 90 && !slices.Equal(now, shown) {
					t.Fatalf("step %d: %d summaries, not the %d before\n%s", i, len(now), len(shown), strings.Join(now, "\n"))
				}
				shown = b.summariesSent()
			}
			run := b.server.Result()
			if n := run.OverBudget(); (name == "closed" || name == "deleted") && (n == 0 || 4*run.Over[proxy.RecordBehind] < 3*n) { // a lock may end, and a busy machine notices it late
				t.Errorf("the reasons for requests above the budget are %v", run.Over)
			}
		})
	}
}
