package proxy_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// TestResume: a run that resumes a session shows the summaries of the run before, as long as
// they keep the request below the budget, and makes no others.
func TestResume(t *testing.T) {
	for _, tokens := range []int{25_000, 32_000, 38_500} { // of the last request, of 40,000
		t.Run(fmt.Sprint(tokens), func(t *testing.T) {
			b := newBed(t, nil)
			b.play(60)
			for n := 60; ; n++ {
				before := len(b.got()) / 4
				b.step(n)
				b.flush()
				b.next()
				if got := len(b.got()) / 4; before < tokens-1_200 && got >= tokens-1_200 && got <= 40_000 {
					break
				}
			}
			shown := b.summariesSent()
			if len(shown) == 0 {
				t.Fatal("there are no summaries: the test proves nothing")
			}
			if err := b.server.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			view := b.viewTokens()
			b.serve(nil)
			b.next()
			b.next()
			if got := b.summariesSent(); !slices.Equal(got, shown) {
				t.Errorf("%d other summaries than the %d before", len(got), len(shown))
			}
			if err := b.server.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now := b.viewTokens(); tokens < 34_000 && now < view { // above, the next ones are made
				t.Errorf("it was folded again: the view has %d tokens, %d before", now, view)
			}
			if run := b.server.Result(); run.Folds != 0 || !bytes.Contains(b.got(), []byte("<lcm-context>")) {
				t.Errorf("%+v", run)
			}
		})
	}
}
