package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/llms"
)

func TestCorpusIsTheSameEverywhere(t *testing.T) {
	total := 0
	for n := range 400 {
		a, b := Message(n), Message(n)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("message %d differs from itself (-first +second):\n%s", n, diff)
		}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		total += len(a.Render())
	}
	if mean := total / 400; mean < 350 || mean > 480 {
		t.Errorf("messages have %d characters on average, want about 400", mean)
	}
	if first, second := Digest(), Digest(); first != second || len(first) != 8 {
		t.Errorf("the corpus is named %q, then %q", first, second)
	}
	if Message(2).Role != llms.RoleTool {
		t.Error("the third message is not a tool's")
	}
}
