package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress reports the current step of a call and its seconds every [Config.Tick],
// to a client that asked for it: hosts do not abort a call that reports.
// done stops the reports and waits for the last one, so that none follows the
// answer.
func (s *Server) progress(ctx context.Context, req *mcp.CallToolRequest) (report func(what string), done func()) {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return func(string) {}, func() {}
	}
	var mu sync.Mutex
	doing := "working"
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	var reporting sync.WaitGroup
	reporting.Go(func() {
		tick := time.NewTicker(s.config.Tick)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			mu.Lock()
			what := doing
			mu.Unlock()
			// A read or write fails later if the client has gone.
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(n), Message: fmt.Sprintf("%s for %d s", what, int(time.Since(began).Seconds())),
			})
		}
	})
	report = func(what string) {
		mu.Lock()
		defer mu.Unlock()
		doing = what
	}
	return report, func() { cancel(); reporting.Wait() }
}
