package mcpserver_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/internal/mcpserver"
)

// A server calls Idle once no request has come for a while, and not after Close.
func TestIdle(t *testing.T) {
	r := newRecord(t)
	synctest.Test(t, func(t *testing.T) {
		for _, open := range []time.Duration{0, time.Minute} {
			var idle atomic.Int64
			s, err := mcpserver.New(t.Context(), mcpserver.Config{Engine: r.engine, Log: slog.New(slog.DiscardHandler), Idle: func() { idle.Add(1) }})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(open)
			s.Close()
			time.Sleep(time.Minute)
			if want := min(int64(open), 1); idle.Load() != want {
				t.Errorf("a server that waited for %v called Idle %d times, want %d", open, idle.Load(), want)
			}
		}
	})
}
