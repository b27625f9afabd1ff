package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		if key == "last" { // the word, not a session
			return failed(exitNotFound, "start the agent with `lcm run`", "no request has come through lcm yet")
		}
		return failed(exitNotFound, "`lcm run --list --json` lists the sessions of each run", "no request of %s came through lcm", safetext.Line(key))
	}
	if err != nil {
		return err
	}
	m := requests[proxy.LastTurn(requests)]
	cmd.printf("%s, %s to %s\n", safetext.Line(key), m.At.Local().Format(time.DateTime), safetext.Line(m.Model))
	cmd.printTable(proxiedTable(m))
	for _, text := range proxiedNotes(m) {
		cmd.note("%s", safetext.Line(text))
	}
	return cmd.emit(m)
}

// proxiedTable lists the parts of a request. Of an observed one they are what would have
// been sent.
func proxiedTable(m proxy.Composition) *table {
	dropped, kept, sent, summaries := "  dropped", "  kept", "sent", "summaries"
	if m.Observe {
		dropped, kept, sent, summaries = "  would have been dropped", "  would have been kept", "would have been sent", "summaries, not sent"
	}
	added := 0
	for _, s := range m.Summaries {
		added += s.Tokens
	}
	t := newTable("", ">messages", ">tokens", "")
	t.add("the host's request", prose.Number(m.Messages), prose.Number(m.FullTokens), "estimated")
	t.add(dropped, prose.Number(m.Dropped), prose.Number(m.FullTokens-m.Tokens+added), "covered by the summaries below")
	t.add(kept, prose.Number(m.Messages-m.Dropped), prose.Number(m.Tokens-added), "with instructions and tools, unchanged")
	t.add(summaries, prose.Number(len(m.Summaries)), prose.Number(added), "")
	for _, s := range m.Summaries {
		t.add("  "+string(s.ID), "", prose.Number(s.Tokens), "for "+prose.Count(s.Messages, "message", "messages")+" of the record")
	}
	t.add(sent, "", prose.Number(m.Tokens), fmt.Sprintf("budget %s", prose.Number(m.Budget)))
	if u := m.Usage; u.Total() > 0 {
		text := fmt.Sprintf("%s read from its cache, %s written to it", prose.Number(u.CacheRead), prose.Number(u.CacheWrite))
		if m.Observe {
			text = "the host's request; " + text
		}
		t.add("counted by the API", "", prose.Number(u.Total()), text)
	}
	return t
}

// proxiedNotes explains a request: why nothing was dropped, and why it is above its budget.
func proxiedNotes(m proxy.Composition) (notes []string) {
	if m.Observe {
		notes = append(notes, "observed: the host's request was sent unchanged")
	}
	switch {
	case m.Subscription:
		notes = append(notes, "passed unchanged because of a subscription login; --subscription changes such requests too")
	case m.Failure != "":
		notes = append(notes, "passed unchanged: "+m.Failure)
	case m.Note == proxy.NoKnownAgent:
		notes = append(notes, "passed unchanged: "+m.Note)
	case m.Note != "":
		notes = append(notes, m.Note)
	case m.Dropped == 0 && m.FullTokens <= m.Budget && m.Over == "":
		notes = append(notes, "passed unchanged: it is within its budget")
	}
	if m.Over != "" && m.Over != m.Failure && m.Over != m.Note {
		notes = append(notes, "above its budget: "+m.Over)
	}
	if m.Dropped > 0 {
		notes = append(notes, "a message of a request can be several messages of the record: an answer, each of its calls, each result")
	}
	return notes
}

// proxiedKey finds the session key that the user means: a key, an id, or the beginning of
// one. The word "last" is the first session of the last run that had one.
func proxiedKey(ctx context.Context, rec *openRecord, name string) (string, error) {
	runs, err := proxy.Runs(ctx, rec.db)
	if err != nil {
		return "", err
	}
	var found []string
	for _, r := range runs {
		if name == "last" && len(r.Sessions) > 0 {
			if i := slices.IndexFunc(r.Sessions, func(key string) bool { return key != proxy.UnknownClient }); i >= 0 {
				return r.Sessions[i], nil
			}
			return proxy.UnknownClient, nil
		}
		for _, key := range r.Sessions {
			_, id, _ := strings.Cut(key, ":")
			if key == name || id == name {
				return key, nil
			}
			if (strings.HasPrefix(key, name) || strings.HasPrefix(id, name)) && !slices.Contains(found, key) {
				found = append(found, key)
			}
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0], nil
	}
	return "", failed(exitUsage, "write more of its id: "+safetext.Line(strings.Join(found[:min(len(found), 5)], ", ")), "%s are called %s…", prose.Count(len(found), "session", "sessions"), safetext.Line(name))
}
