package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
)

// proxiedRequest prints the composition of the last request of a session.
func (cmd *contextCommand) proxiedRequest(ctx context.Context, rec *openRecord) error {
	key, err := proxiedKey(ctx, rec, cmd.proxied)
	if err != nil {
		return err
	}
	requests, err := proxy.Requests(ctx, rec.db, key)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(requests) == 0 {
		return failed(exitNotFound, "start the agent with `lcm run`; `lcm run --list --json` lists the sessions of each run", "no request of %s has come through lcm yet", safetext.Line(key))
	}
	if err != nil {
		return err
	}
	m := requests[proxy.LastTurn(requests)]
	added := 0
	for _, s := range m.Summaries {
		added += s.Tokens
	}
	t := newTable("", ">messages", ">tokens", "")
	t.add("the host's request", prose.Number(m.Messages), prose.Number(m.FullTokens), "estimated")
	t.add("  dropped", prose.Number(m.Dropped), prose.Number(m.FullTokens-m.Tokens+added), "covered by the summaries below")
	t.add("  kept", prose.Number(m.Messages-m.Dropped), prose.Number(m.Tokens-added), "with instructions and tools, unchanged")
	for _, s := range m.Summaries {
		t.add("  "+string(s.ID), "", prose.Number(s.Tokens), "for "+prose.Count(s.Messages, "message", "messages")+" of the record")
	}
	t.add("sent", "", prose.Number(m.Tokens), "budget "+prose.Number(m.Budget))
	if u := m.Usage; u.Total() > 0 {
		t.add("counted by the API", "", prose.Number(u.Total()), prose.Number(u.CacheRead)+" read from its cache, "+prose.Number(u.CacheWrite)+" written to it")
	}
	cmd.printf("%s, %s to %s\n", safetext.Line(key), m.At.Local().Format(time.DateTime), safetext.Line(m.Model))
	cmd.printTable(t)
	for _, text := range proxiedNotes(m) {
		cmd.note("%s", safetext.Line(text))
	}
	return cmd.emit(m)
}

// proxiedNotes says why a request was not changed, and why it is above its budget.
func proxiedNotes(m proxy.Composition) (notes []string) {
	if m.Observe {
		notes = append(notes, "observed: the host's request was sent unchanged, and this is what would have been sent")
	}
	switch {
	case m.Subscription:
		notes = append(notes, "passed unchanged because of a subscription login; --subscription changes such requests too")
	case m.Failure != "":
		notes = append(notes, "passed unchanged: "+m.Failure)
	case m.Note != "":
		notes = append(notes, m.Note)
	}
	if m.Over != "" && m.Over != m.Failure && m.Over != m.Note {
		notes = append(notes, "above its budget: "+m.Over)
	}
	return notes
}

// proxiedKey finds the newest session whose key or id begins with a name. The word "last"
// is the session of the last run that had one.
func proxiedKey(ctx context.Context, rec *openRecord, name string) (string, error) {
	runs, err := proxy.Runs(ctx, rec.db)
	for _, r := range runs { // the newest first
		for _, key := range r.Sessions {
			_, id, _ := strings.Cut(key, ":")
			if name == "last" && key != proxy.UnknownClient || strings.HasPrefix(key, name) || strings.HasPrefix(id, name) {
				return key, nil
			}
		}
	}
	return name, err
}
