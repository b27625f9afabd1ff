package delegation

import (
	"errors"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// A sub-agent that reads nothing, whatever its searches return, may call its model three times
// in a row.
func TestMeterEndsALoop(t *testing.T) {
	for read, last := range map[int]error{0: errLoop, 1: nil} {
		m := newMeter(1_000_000, 0, func(s string) int { return len(s) })
		for i := range maxIdle {
			size, err := m.begin(llms.Request{System: "x"})
			if err != nil {
				t.Fatalf("call %d: %v", i+1, err)
			}
			m.end(size, llms.Usage{})
			m.feed(50, read)
		}
		if _, err := m.begin(llms.Request{System: "x"}); !errors.Is(err, last) {
			t.Errorf("after tools that returned %d tokens of the record: %v", read, err)
		}
	}
}

// A request that is too large is tried with half of it, if something of it was read.
func TestMeterTriesASmallerWindow(t *testing.T) {
	for read, want := range map[int]int{0: 0, 1: 500} {
		m := newMeter(1_000_000, 0, func(s string) int { return len(s) })
		m.feed(50, read)
		m.refuse(1000)
		if got := m.again(); got != want {
			t.Errorf("with %d tokens of the record: %d, want %d", read, got, want)
		}
		if got := m.again(); got != 0 {
			t.Errorf("a second time: %d", got)
		}
	}
}

// A call that spends the budget to its last token is admitted.
func TestMeterAtItsBudget(t *testing.T) {
	for budget, refused := range map[int]bool{105: false, 104: true} {
		m := newMeter(budget, 0, func(s string) int { return len(s) })
		if _, err := m.begin(llms.Request{System: string(make([]byte, 100))}); errors.Is(err, errBudget) != refused {
			t.Errorf("%d tokens: %v", budget, err)
		}
	}
}
