package pages_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/bench/pages"
)

func TestMeasureReadsEveryPage(t *testing.T) {
	dir := t.TempDir()
	for _, messages := range []int{2000, 2100} { // the second run adds to the first
		r, err := pages.Measure(t.Context(), pages.Options{Messages: messages, Runs: 2, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages != int64(messages) || len(r.Pages) != 13 || len(r.Checks()) != 9 {
			t.Errorf("%+v", r)
		}
		for _, p := range r.Pages {
			least := int64(500)
			if strings.HasPrefix(p.Name, "tools") {
				least = 150 // a list with one name
			}
			if p.P95 <= 0 || p.Bytes < least || !strings.Contains(r.Text(), p.Name) {
				t.Errorf("%+v", p)
			}
		}
	}
}
