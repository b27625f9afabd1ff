package mcpserver_test

import (
	"log/slog"
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
			idle := 0
			s, err := mcpserver.New(t.Context(), mcpserver.Config{Engine: r.engine, Log: slog.New(slog.DiscardHandler), Idle: func() { idle++ }})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(open)
			s.Close()
			time.Sleep(time.Minute)
			if want := min(int(open), 1); idle != want {
				t.Errorf("a server that waited for %v called Idle %d times, want %d", open, idle, want)
			}
		}
	})
}
