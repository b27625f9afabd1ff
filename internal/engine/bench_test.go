//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkAssemble is the processor time of an assemble in a folded session, and of the work in
// the background that follows it. Each has one step more than the one before.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := &loop{adapter: start(b, b.TempDir(), "loop"), session: "s"}
			for i := 0; len(l.history) < n; i++ {
				l.step(i, 60)
				if i%500 == 0 {
					l.ingest()
				}
			}
			l.ingest()
			for i := 0; ; i++ {
				if _, got := l.assemble(60_000); len(got.Parts) > 1 && got.Over == "" {
					break
				} else if i > 100 {
					b.Fatal(got)
				}
			}
			var used time.Duration
			for i := n; b.Loop(); i++ {
				l.step(i, 60)
				list, err := json.Marshal(l.history)
				if err != nil {
					b.Fatal(err)
				}
				l.next++
				l.wait[l.next] = make(chan reply, 1)
				text := fmt.Appendf(nil, `{"id":%d,"verb":"assemble","session":"s","form":"openai","budget":60000,"messages":%s}`+"\n", l.next, list)
				began := processorTime()
				if _, err := l.in.Write(text); err != nil {
					b.Fatal(err)
				}
				got := <-l.wait[l.next]
				used += processorTime() - began
				if got.Error != nil || !strings.Contains(string(got.OK), "summary") {
					b.Fatalf("%+v", got)
				}
			}
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
