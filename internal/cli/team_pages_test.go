package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/recall"
)

// TestTeamPagesEnd: a search without a limit ends, whatever pages a server answers with.
func TestTeamPagesEnd(t *testing.T) {
	large := `[{"snippet":"` + strings.Repeat("x", 10<<20) + `"}]`
	for name, c := range map[string]struct {
		matches string
		cursor  func(n int) int
		pages   int
		want    string
	}{
		"one cursor":  {`[]`, func(int) int { return 1 }, 2, "the same page again"},
		"a cycle":     {`[]`, func(n int) int { return n % 3 }, 4, "the same page again"},
		"empty pages": {`[]`, func(n int) int { return n }, 1000, "too many matches"},
		"large pages": {large, func(n int) int { return n }, 7, "too many matches"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n++
				fmt.Fprintf(w, `{"matches":%s,"total":9,"nextCursor":"c%d"}`, c.matches, c.cursor(n))
			}))
			defer server.Close()
			cmd := &grepCommand{program: &program{}}
			err := cmd.grepTeam(t.Context(), teamsync.Client{URL: server.URL, Token: "lcm_x"})
			if err == nil || !strings.Contains(err.Error(), c.want) || n > c.pages+1 {
				t.Errorf("%v after %d pages, want %q after %d", err, n, c.want, c.pages)
			}
		})
	}
}

// TestLyingRanges: a server may say that a match is anywhere.
func TestLyingRanges(t *testing.T) {
	cmd := &grepCommand{program: &program{}}
	for _, r := range [][2]int{{-9, 2}, {3, 1 << 50}, {2, 1}} {
		if got := cmd.matchedLine(recall.Match{Snippet: "über zebra", MatchRanges: [][2]int{r}}); !strings.Contains(got, "zebra") {
			t.Errorf("%v: %q", r, got)
		}
	}
}
