package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

type statuslineCommand struct{ *program }

func newStatusline(p *program) *cobra.Command {
	cmd := &statuslineCommand{program: p}
	return &cobra.Command{
		Use:   "statusline",
		Short: "Print one line about a session of Claude Code (for its statusLine)",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return cmd.run(c.Context()) },
	}
}

// statuslineTime is how long Claude Code may wait for the line.
const statuslineTime = time.Second

// run prints the line. Claude Code shows nothing of a command that fails, so that an error is
// a line too.
func (cmd *statuslineCommand) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statuslineTime)
	defer cancel()
	var in struct {
		Session string `json:"session_id"`
	}
	if err := json.NewDecoder(io.LimitReader(cmd.typed(ctx), 1<<20)).Decode(&in); err != nil || in.Session == "" {
		return failed(exitUsage, "Claude Code starts this; `lcm setup claude` connects it", "there is no session of Claude Code on standard input")
	}
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	parts := []string{"nothing stored yet"}
	if !missingFile(cfg) {
		// The search index is not opened: an engine would do that.
		db, err := openPath(ctx, postgres.WithPassword(cfg.Storage.DatabasePath, cfg.DatabasePassword), sqlite.Options{ReadOnly: true, BusyTimeout: hookPatience, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			parts, err = aboutSession(ctx, db, hosts.Transcript{Host: claude.Name, Session: in.Session}.Key())
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			parts = []string{"the record cannot be read: see `lcm doctor`"}
		}
	}
	cmd.printf("lcm: %s\n", strings.Join(parts, " · "))
	return nil
}

// aboutSession describes a session in a few words each. It reads a row for each of them.
func aboutSession(ctx context.Context, db database, key string) (parts []string, err error) {
	found, err := db.Conversations(ctx, store.ConversationQuery{Key: key, ActiveOnly: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	parts = []string{"new session"}
	if len(found) > 0 {
		parts = []string{prose.Count(found[0].Messages, "message", "messages") + " stored"}
		if n := found[0].Summaries; n > 0 {
			parts = append(parts, prose.Count(n, "summary", "summaries"))
		}
	}
	v, err := db.Get(ctx, store.RecallSpace, key)
	if err == nil {
		var at time.Time
		err = json.Unmarshal(v.Data, &at)
		parts = append(parts, "earlier work recalled at "+at.Local().Format("15:04"))
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	requests, err := proxy.Requests(ctx, db, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(requests) == 0 {
		return parts, nil
	}
	if err != nil {
		return nil, err
	}
	if m := requests[proxy.LastTurn(requests)]; m.Dropped > 0 && !m.Observe {
		parts = append(parts, fmt.Sprintf("lcm run saved %d %% of %s tokens", 100-100*m.Tokens/m.FullTokens, thousands(m.FullTokens)))
	}
	return parts, nil
}

// thousands writes a number of tokens in four characters.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}
