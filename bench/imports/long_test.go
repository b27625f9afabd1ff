package imports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqlite"
)

const longSession = "00000000-0000-4000-8000-000000000001"

func TestWriteLong(t *testing.T) {
	var one, two bytes.Buffer
	n, err := WriteLong(&one, longSession, 3000, 1)
	if err != nil || n != int64(one.Len()) || bytes.Count(one.Bytes(), []byte("\n")) != 3000 {
		t.Fatalf("%d bytes of %d, %d records, %v", n, one.Len(), bytes.Count(one.Bytes(), []byte("\n")), err)
	}
	if each := n / 3000; each < 1500 || each > 2500 {
		t.Errorf("%d bytes a record", each)
	}
	if _, err := WriteLong(&two, longSession, 3000, 1); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Errorf("the same seed gives another session: %v", err)
	}
}

// BenchmarkFirstFold folds a session of which nothing was folded before. Its
// cost grows as the number of messages does.
func BenchmarkFirstFold(b *testing.B) {
	for _, records := range []int{20_000, 80_000, 157_806} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				e := imported(b, records)
				busy := harness.CPUTime()
				b.StartTimer()
				r, err := e.Compact(b.Context(), 1, lcm.CompactOptions{})
				if err != nil || r.Folds() == 0 {
					b.Fatal(r, err)
				}
				b.ReportMetric((harness.CPUTime()-busy).Seconds()/float64(b.N), "cpu-s/op")
				b.ReportMetric(float64(r.Folds()), "summaries")
			}
		})
	}
}

// imported returns an engine on a database with a long session.
func imported(b *testing.B, records int) *lcm.Engine {
	b.Helper()
	home := b.TempDir()
	path := filepath.Join(home, ".claude", "projects", "-home-user-project", longSession+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := WriteLong(f, longSession, records, 1); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	database := filepath.Join(home, "lcm.db")
	var r Report
	if _, err := importAll(b.Context(), home, database, &r, nil); err != nil {
		b.Fatal(err)
	}
	db, err := sqlite.Open(b.Context(), database, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		b.Fatal(err)
	}
	return e
}
