package pages_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/bench/pages"
)

func TestMeasureReadsEveryPage(t *testing.T) {
	dir := t.TempDir()
	for _, messages := range []int{300, 500} { // the second run adds to the first
		r, err := pages.Measure(t.Context(), pages.Options{Messages: messages, Runs: 2, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages != int64(messages) || len(r.Pages) != 10 || len(r.Checks()) != 7 {
			t.Errorf("%+v", r)
		}
		for _, p := range r.Pages {
			if p.P95 <= 0 || p.Bytes < 500 || !strings.Contains(r.Text(), p.Name) {
				t.Errorf("%+v", p)
			}
		}
	}
}
