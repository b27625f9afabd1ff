package scale

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMeasureFillsEveryColumn(t *testing.T) {
	r, err := Measure(t.Context(), Options{Sizes: []int{1200}, Spreads: []int{1, 3}, Samples: 5, Budget: 20_000, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 2 {
		t.Fatalf("%d runs, want 2", len(r.Runs))
	}
	for _, run := range r.Runs {
		for name, v := range map[string]float64{
			"ingest": run.IngestPerSecond, "sql": run.SQLPerSecond, "ratio": run.Ratio, "index": run.IndexMillis, "trigrams": run.GramShare,
			"append": run.Append.P50, "cold": run.Cold.P50, "warm": run.Warm.P50, "passes": float64(run.Passes), "pass": run.PassMillis,
			"raw": float64(run.RawBytes), "bytes": run.BytesPerRaw, "rss": float64(run.RSSBytes), "tokens": float64(run.ContextTokens),
		} {
			if v <= 0 {
				t.Errorf("%d conversations: %s is %v", run.Conversations, name, v)
			}
		}
		if run.Compared != 100 {
			t.Errorf("%d expressions were compared, want 100", run.Compared)
		}
		if run.ScanRatio <= 0 {
			t.Error("nothing was set beside a scan")
		}
		if run.ContextTokens > 20_000 {
			t.Errorf("a context has %d tokens, the budget is 20,000", run.ContextTokens)
		}
	}
	for _, want := range []string{"SQLite", "durable append p50, ms", "at least 0.6", "at most 5"} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the report lacks %q:\n%s", want, r.Text())
		}
	}
}

func TestChecksNameTheWorstRun(t *testing.T) {
	good := Run{Messages: 10_000, Conversations: 1, Ratio: 1, Cold: Times{P50: 2}, Warm: Times{P50: 1}, Append: Times{P50: 1},
		PassMillis: 1, BytesPerRaw: 2, ContextTokens: 1000}
	bad := good
	bad.Messages, bad.Ratio, bad.Cold.P50, bad.BytesPerRaw = 100_000, 0.5, 4.5, 3.5
	got := map[string]bool{}
	for _, c := range (Report{Runs: []Run{good, bad}}).Checks() {
		got[c.What] = c.OK
	}
	want := map[string]bool{
		"batch ingest, by hand-written SQL":    false,
		"context p50 of a fresh session, ms":   true,
		"context p50 of a running session, ms": true,
		"compaction overhead a pass, ms":       true,
		"common word, times faster than peers": false, "expression without a literal, by memory": true,
		"selective regex, times a scan": false, "stored and indexed, by FTS5 by hand": false, "trigram bytes a byte of text": true, "trigrams' share of storing and indexing": true,
		"database bytes a raw byte":             false,
		"growth of the context p50 from 10k on": false,
		"growth of the append p50 from 10k on":  true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeasureRefusesNoSize(t *testing.T) {
	if _, err := Measure(context.Background(), Options{Sizes: []int{0}}); err == nil {
		t.Error("a size of 0 is accepted")
	}
}
