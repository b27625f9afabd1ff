package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/store"
)

// proxiedRequest prints the composition of the last request of a session.
func (cmd *contextCommand) proxiedRequest(ctx context.Context, rec *openRecord) error {
	key, err := proxiedKey(ctx, rec, cmd.proxied)
	if err != nil {
		return err
	}
	requests, err := proxy.Requests(ctx, rec.db, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(requests) == 0 {
		if key == "last" { // the word, not a session
			return failed(exitNotFound, "start the agent with `lcm run`", "no request has come through lcm yet")
		}
		return failed(exitNotFound, "`lcm status --runs --json` lists the sessions of each run", "no request of %s came through lcm", safetext.Line(key))
	}
	if err != nil {
		return err
	}
	m := requests[proxy.LastTurn(requests)]
	if cmd.json {
		return cmd.printJSON(m)
	}
	added := 0
	for _, s := range m.Summaries {
		added += s.Tokens
	}
	cmd.printf("%s, %s to %s\n", safetext.Line(key), m.At.Local().Format(time.DateTime), safetext.Line(m.Model))
	t := newTable("", ">messages", ">tokens", "")
	t.add("the host's request", prose.Number(m.Messages), prose.Number(m.FullTokens), "estimated")
	t.add("  dropped", prose.Number(m.Dropped), prose.Number(m.FullTokens-m.Tokens+added), "covered by the summaries below")
	t.add("  kept", prose.Number(m.Messages-m.Dropped), prose.Number(m.Tokens-added), "with instructions and tools, unchanged")
	t.add("summaries", prose.Number(len(m.Summaries)), prose.Number(added), "")
	for _, s := range m.Summaries {
		t.add("  "+string(s.ID), "", prose.Number(s.Tokens), "for "+prose.Count(s.Messages, "message", "messages"))
	}
	t.add("sent", "", prose.Number(m.Tokens), fmt.Sprintf("budget %s", prose.Number(m.Budget)))
	if u := m.Usage; u.Total() > 0 {
		t.add("counted by the API", "", prose.Number(u.Total()), fmt.Sprintf("%s read from its cache, %s written to it", prose.Number(u.CacheRead), prose.Number(u.CacheWrite)))
	}
	cmd.printTable(t)
	if why := strings.TrimSpace(m.Failure + " " + m.Note); why != "" {
		cmd.note("%s", safetext.Line(why))
	}
	return nil
}

// proxiedKey finds the session key that the user means: a key, or the end of one.
func proxiedKey(ctx context.Context, rec *openRecord, name string) (string, error) {
	runs, err := proxy.Runs(ctx, rec.db)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		for _, key := range r.Sessions {
			_, id, _ := strings.Cut(key, ":")
			if key == name || id == name || name == "last" || len(name) >= 6 && strings.HasPrefix(id, name) {
				return key, nil
			}
		}
	}
	return name, nil
}
