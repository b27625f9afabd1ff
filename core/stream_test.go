package core_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func speak(words ...string) core.StarterFunc {
	return func(_ context.Context, emit func(core.Event)) (string, error) {
		for _, word := range words {
			emit(core.Event{Kind: core.EventText, Text: word})
		}
		return strings.Join(words, ""), nil
	}
}

func TestEveryReaderSeesEveryEvent(t *testing.T) {
	words := strings.SplitAfter(strings.Repeat("word ", 500), " ")
	stream := speak(words...).Start()
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			var got []string
			for e := range stream.Events() {
				if e.Kind == core.EventText {
					got = append(got, e.Text)
				}
			}
			if diff := cmp.Diff(words, got); diff != "" {
				t.Errorf("a reader missed something (-want +got):\n%s", diff)
			}
		})
	}
	readers.Wait()
	if text, err := stream.Text(); err != nil || text != strings.Join(words, "") {
		t.Errorf("text after the end: %d bytes, %v", len(text), err)
	}
}

// A reader that leaves early must neither stop the writer nor leak it; goleak
// in TestMain watches.
func TestLeavingEarlyLeaksNothing(t *testing.T) {
	stream := speak("a", "b", "c").Start()
	for range stream.Events() {
		break
	}
	if text, err := stream.Text(); text != "abc" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestStreamEndsOnce(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		call core.StarterFunc
		want string
	}{
		{"answer", speak("hi"), ""},
		{"error", func(context.Context, func(core.Event)) (string, error) { return "", broken }, "broken"},
		{"panic", func(context.Context, func(core.Event)) (string, error) { panic("ouch") }, "panicked: ouch"},
		{"goexit", func(context.Context, func(core.Event)) (string, error) {
			runtime.Goexit()
			return "", nil
		}, "without an answer"},
		{"terminal events from inside are dropped", func(_ context.Context, emit func(core.Event)) (string, error) {
			emit(core.Event{Kind: core.EventDone, Text: "early"})
			emit(core.Event{Kind: core.EventError, Err: broken})
			return "", nil
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stream := test.call.Start()
			ends := 0
			for e := range stream.Events() {
				if e.Terminal() {
					ends++
				}
			}
			if ends != 1 {
				t.Errorf("%d terminal events", ends)
			}
			_, err := stream.Text()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestStopCancelsTheCall(t *testing.T) {
	wait := core.StarterFunc(func(ctx context.Context, _ func(core.Event)) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	stream := wait.Start()
	stream.Stop()
	if _, err := stream.Text(); !errors.Is(err, core.ErrStopped) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream = wait.StartContext(ctx)
	cancel()
	if _, err := stream.Text(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAReaderCanLeaveWithItsContext(t *testing.T) {
	stream := core.StarterFunc(func(ctx context.Context, emit func(core.Event)) (string, error) {
		emit(core.Event{Kind: core.EventText, Text: "first"})
		<-ctx.Done()
		return "", ctx.Err()
	}).Start()
	defer stream.Wait()
	defer stream.Stop()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	seen := 0
	for e := range stream.EventsContext(ctx) {
		if e.Terminal() {
			t.Error("the call ended with its reader")
		}
		seen++
		leave()
	}
	if seen != 1 {
		t.Errorf("saw %d events", seen)
	}
}

func TestEventsAfterTheEndAreDropped(t *testing.T) {
	var late func(core.Event)
	stream := core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		late = emit
		return "done", nil
	}).Start()
	stream.Wait()
	late(core.Event{Kind: core.EventText, Text: "too late"})
	for e := range stream.Events() {
		if e.Text == "too late" {
			t.Error("the stream grew after its end")
		}
	}
}

func TestUsageIsSummed(t *testing.T) {
	stream := core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		emit(core.Event{Kind: core.EventUsage, Usage: &core.Usage{InputTokens: 10, OutputTokens: 1}})
		emit(core.Event{Kind: core.EventUsage, Usage: &core.Usage{InputTokens: 5, CacheReadTokens: 3, CacheWriteTokens: 2}}.Relayed("helper"))
		return "", nil
	}).Start()
	want := core.Usage{InputTokens: 15, OutputTokens: 1, CacheReadTokens: 3, CacheWriteTokens: 2}
	if diff := cmp.Diff(&want, stream.Wait().Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if got := want.Total(); got != 16 {
		t.Errorf("total %d", got)
	}
}

func TestRelayedEventsCarryThePath(t *testing.T) {
	e := core.Event{Kind: core.EventText, Text: "x"}.Relayed("inner").Relayed("outer")
	if diff := cmp.Diff([]string{"outer", "inner"}, e.From); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

func TestFail(t *testing.T) {
	if _, err := core.Fail(errors.New("no engine")).Start().Text(); err == nil || err.Error() != "no engine" {
		t.Errorf("got %v", err)
	}
}

func ExampleStarterFunc() {
	call := core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		emit(core.Event{Kind: core.EventText, Text: "forty-"})
		emit(core.Event{Kind: core.EventText, Text: "two"})
		return "forty-two", nil
	})
	for e := range call.Start().Events() {
		fmt.Printf("%s %q\n", e.Kind, e.Text)
	}
	// Output:
	// text "forty-"
	// text "two"
	// done "forty-two"
}

// The end tells why the stream's own model stopped, not why a helper's did.
func TestTheEndCarriesItsOwnStop(t *testing.T) {
	stream := core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		own := core.Event{Kind: core.EventUsage, Usage: &core.Usage{OutputTokens: 1}, Stop: core.StopSequence}
		emit(own)
		own.Stop = core.StopLength
		emit(own.Relayed("helper"))
		return "done", nil
	}).Start()
	if last := stream.Wait(); last.Stop != core.StopSequence || last.Usage.OutputTokens != 2 {
		t.Errorf("stop %q, usage %+v", last.Stop, last.Usage)
	}
}

// A long answer in tiny pieces takes room for its text, whoever reads it and when. Every reader
// gets all of it.
func TestTinyPiecesTakeLittleRoom(t *testing.T) {
	const pieces = 1 << 20
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	stream := core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		for i := range pieces {
			emit(core.Event{Kind: core.EventText, Text: fmt.Sprintf("%04x", i&0xffff)})
			if i%1000 == 999 {
				emit(core.Event{Kind: core.EventReasoning, Text: "hm"})
			}
		}
		return "", nil
	}).Start()
	read := func() (n int) {
		for e := range stream.Events() {
			if e.Kind == core.EventText {
				for ; len(e.Text) > 0; n, e.Text = n+1, e.Text[4:] {
					if e.Text[:4] != fmt.Sprintf("%04x", n&0xffff) {
						t.Fatalf("piece %d is %q", n, e.Text[:4])
					}
				}
			}
		}
		return n
	}
	if during, after := read(), read(); during != pieces || after != pieces {
		t.Errorf("a reader got %d pieces, a later one %d", during, after)
	}
	if used := heap() - before; used > 32<<20 {
		t.Errorf("%d MB are held for a text of 4 MB", used>>20)
	}
	runtime.KeepAlive(stream)
}
