package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/peersync"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// exchanged is the outcome of an exchange, for --json.
type exchanged struct {
	Machine string           `json:"machine"`
	Here    peersync.Outcome `json:"here"`  // what this machine did
	There   peersync.Outcome `json:"there"` // what the other one did
}

// exchange exchanges messages with another machine.
func (cmd *syncCommand) exchange(ctx context.Context, rec *openRecord, url string) error {
	done, err := cmd.call(ctx, rec, url, false)
	if done.Machine != "" {
		err = errors.Join(cmd.printExchange(done), err)
	}
	return errors.Join(outcomeError("", done.Here), outcomeError("on "+safetext.Line(done.Machine)+": ", done.There), err)
}

// call starts lcm on another machine and exchanges messages with it, one exchange at a time on this
// machine. With quiet, ssh asks for nothing, and another exchange is [lease.ErrBusy].
func (cmd *syncCommand) call(ctx context.Context, rec *openRecord, url string, quiet bool) (done exchanged, err error) {
	path := cmd.remoteLCM
	if path == "" && url == rec.cfg.Sync.URL {
		path = rec.cfg.Sync.RemoteLCM
	}
	ssh, err := peersync.Command(ctx, url, path, quiet)
	if err != nil {
		return done, &failure{exitUsage, err}
	}
	held, err := rec.syncLeases().Take(ctx, "exchange", false)
	if errors.Is(err, lease.ErrBusy) && !quiet {
		cmd.note("waiting for another sync of this machine")
		held, err = rec.syncLeases().Take(ctx, "exchange", true)
	}
	if err != nil {
		return done, err
	}
	stop := held.Keep(ctx)
	defer func() { err = errors.Join(err, stop(), held.Release(ctx)) }()
	said := &safeLines{to: cmd.err}
	ssh.Stderr = said
	// A connection that ssh keeps for later calls (ControlPersist) keeps standard error open too.
	ssh.WaitDelay = 10 * time.Second
	side, end, err := cmd.side(ctx, rec)
	if err != nil {
		return done, err
	}
	defer end()
	other, mine, theirs, err := side.Run(ctx, ssh, url, cmd.verify)
	_ = said.Close() // nobody reads standard error any more
	if err != nil {
		err = &failure{exitFailure, err}
	}
	return exchanged{other.Name, mine, theirs}, errors.Join(err, rec.settle(ctx))
}

// answer is the other machine's part of call. It speaks over standard input and output.
func (cmd *syncCommand) answer(ctx context.Context, rec *openRecord) error {
	side, end, err := cmd.side(ctx, rec)
	if err != nil {
		return err
	}
	defer end()
	return errors.Join(side.Answer(ctx, cmd.typed(ctx), cmd.out), rec.settle(ctx))
}

// side is this machine's part of an exchange.
func (cmd *syncCommand) side(ctx context.Context, rec *openRecord) (side peersync.Side, end func(), err error) {
	pusher := rec.newPusher(teamsync.Client{})
	tokens, err := access.Tokens{State: pusher.Store}.List(ctx)
	if err != nil {
		return side, nil, err
	}
	if len(tokens) > 0 {
		return side, nil, failed(exitConfig, "push to it with sync.url and a token; `--db` or LCM_DATABASE_PATH names the database of a person",
			"the database is a team server's: it has messages of others, and is not exchanged with a machine")
	}
	machine, err := pusher.Machine(ctx)
	if err != nil {
		return side, nil, err
	}
	server, err := teamserver.New(context.WithoutCancel(ctx), teamserver.Config{
		Store: rec.engine.Store(), Engine: rec.engine, Log: rec.log,
		NewEngine: func(s store.Store) (*lcm.Engine, error) { return newEngine(rec.cfg, s, rec.counter, rec.log) },
	})
	if err != nil {
		return side, nil, err
	}
	side = peersync.Side{Hello: peersync.Hello{Machine: machine, Name: pusher.MachineName, Version: version}}
	side.Take = func(other peersync.Hello) http.Handler {
		return server.Peer(machine, teamserver.Peer{Machine: other.Machine, Name: other.Name, Stays: pusher.Stays})
	}
	side.Push = func(ctx context.Context, to teamsync.Client, other peersync.Hello, verify bool) (done peersync.Outcome) {
		p := rec.newPusher(to)
		p.Peer = other.Machine
		p.Forget = func(ctx context.Context, order store.Erasure) error {
			what := prose.Count(len(order.Messages), "message", "messages")
			if len(order.Conversations) > 0 {
				what = "a whole conversation"
			}
			err := rec.audit().Add(ctx, access.Entry{Who: other.Name + " (machine " + other.Machine + ")", Action: "erase", Detail: "sync: " + what})
			if err == nil {
				_, err = rec.engine.Erase(ctx, order, nil)
			}
			return err
		}
		var err error
		if p.Received, err = teamserver.Received(ctx, p.Store, other.Machine); err == nil {
			done, err = cmd.pushTo(ctx, rec, p, verify)
		}
		if err != nil {
			done.Error, done.Hint = hint.Split(err)
		}
		return done
	}
	return side, server.Close, nil
}

// pushTo pushes to another machine, or compares what was pushed.
func (cmd *syncCommand) pushTo(ctx context.Context, rec *openRecord, p *teamsync.Pusher, verify bool) (done peersync.Outcome, err error) {
	if verify {
		v, err := p.Verify(ctx)
		done.Verified = &v
		return done, err
	}
	bar := cmd.newBar("sending")
	defer bar.clear()
	p.Pushed = func(r teamsync.Report) { bar.set(0, 0, prose.Number(r.Messages)+" messages") }
	r, _, err := rec.push(ctx, p, true)
	done.Pushed = &r
	return done, err
}

// printExchange says what both machines did.
func (cmd *syncCommand) printExchange(done exchanged) error {
	name := safetext.Line(done.Machine)
	cmd.printPush(done.Here, "sent to "+name, "here", "there")
	cmd.printPush(done.There, "received from "+name, "there", "here")
	if here, there := done.Here.Pushed, done.There.Pushed; here != nil && there != nil {
		if n := here.Forgot + there.Erased; n > 0 {
			cmd.printf("erased here: %s forgotten on %s\n", prose.Count(n, "message that was", "messages that were"), name)
		}
		if n := here.Erased + there.Forgot; n > 0 {
			cmd.printf("erased on %s: %s forgotten here\n", name, prose.Count(n, "message that was", "messages that were"))
		}
	}
	return cmd.emit(done)
}

// printPush says what one of them pushed to the other, or compared.
func (cmd *syncCommand) printPush(o peersync.Outcome, did, here, there string) {
	if v := o.Verified; v != nil {
		cmd.printf("%s: %s of %s agree\n", did, prose.Count(v.Messages, "message", "messages"), prose.Count(v.Conversations-len(v.Differ), "conversation", "conversations"))
	}
	r := o.Pushed
	if r == nil {
		return
	}
	cmd.printf("%s: %s (%s) of %s\n", did, prose.Count(r.Messages, "message", "messages"), prose.Size(r.Bytes), prose.Count(r.Conversations, "conversation", "conversations"))
	cmd.notes(*r, here, there)
	if n := len(r.Denied); n > 0 {
		cmd.note("%s ignored %s, and stays %s: %s", prose.Count(n, "project is", "projects are"), there, here, safetext.Line(strings.Join(r.Denied[:min(n, 5)], ", ")))
	}
}

// outcomeError is the error of one of the two pushes.
func outcomeError(where string, o peersync.Outcome) error {
	switch v := o.Verified; {
	case o.Error != "":
		return failed(exitFailure, o.Hint, "%s%s", where, o.Error)
	case v != nil && len(v.Differ) > 0:
		return failed(exitFaults, "`lcm verify --all` on both machines tells which record is damaged",
			"%sthe other machine has other messages of %s: %v", where, prose.Count(len(v.Differ), "conversation", "conversations"), v.Differ)
	}
	return nil
}

// settle finishes the erasures of an exchange, and has long conversations that arrived folded and
// indexed in the background.
func (rec *openRecord) settle(ctx context.Context) error {
	if err := rec.engine.FinishErasing(ctx, nil); err != nil {
		return err
	}
	due, err := rec.db.IndexDue(ctx)
	if err == nil && !due && foldAbove(rec.cfg) > 0 {
		var long []store.Conversation
		long, err = rec.engine.Due(ctx, nil)
		due = len(long) > 0
	}
	if err != nil || !due {
		return err
	}
	return startRest(startDetached, "sync", rec.cfg, "--fold-all")
}

// syncEvent is the last sync in the background, among the last events of hosts.
const syncEvent = "lcm/sync"

// noteSync records the outcome of a sync in the background, for `lcm doctor`.
func noteSync(ctx context.Context, s store.State, problem error) error {
	f := hosts.Fired{At: time.Now()}
	if problem != nil {
		f.Problem, _ = hint.Split(problem)
		f.Problem = prose.Clip(f.Problem, 300) // the other machine may have worded it
	}
	return store.Set(ctx, s, store.HookFiredSpace, syncEvent, f, time.Time{})
}

// syncFindings reports that the last sync in the background failed.
func syncFindings(ctx context.Context, cfg *config.Config, s store.State) (found []doctor.Finding) {
	fired, _ := hosts.Noted(ctx, s) // the check of hosts reports its error
	for _, f := range fired {
		if cfg.Sync.Hook && f.Host+"/"+f.Event == syncEvent && f.Problem != "" {
			found = append(found, doctor.Finding{Code: "sync-failed", Severity: doctor.Warning, Where: cfg.Sync.URL,
				Message: "the last sync in the background failed at " + stamp(f.At) + ": " + f.Problem, Advice: "`lcm sync` tries it again, and says what to do"})
		}
	}
	return found
}

// unasked pushes to the server or exchanges messages with the machine that sync.url names, in
// the background.
func (cmd *syncCommand) unasked(ctx context.Context, rec *openRecord) error {
	if url := rec.cfg.Sync.URL; strings.HasPrefix(url, teamsync.PeerScheme) {
		done, err := cmd.call(ctx, rec, url, true)
		if errors.Is(err, lease.ErrBusy) {
			return nil // the turn before is still under way
		}
		return errors.Join(err, outcomeError("", done.Here), outcomeError("on "+done.Machine+": ", done.There))
	}
	p, err := cmd.teamPusher(ctx, rec)
	if err != nil {
		return err
	}
	_, _, err = rec.push(ctx, p, false)
	return err
}
