package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

type syncCommand struct {
	*program
	verify    bool
	newID     bool   // for a copy of a database
	stdio     bool   // answer another machine that called
	remoteLCM string // its path on the other machine
}

func newSync(p *program) *cobra.Command {
	cmd := &syncCommand{program: p}
	c := &cobra.Command{
		Use:   "sync [ssh://HOST]",
		Short: "Exchange what is new with another machine, or push it to the team's server",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE:  cmd.choose,
	}
	c.Flags().BoolVar(&cmd.verify, "verify", false, "compare what was pushed with the record there")
	c.Flags().StringVar(&cmd.remoteLCM, "remote-lcm", "", "`path` of lcm on the other machine, if it is not found there")
	c.Flags().BoolVar(&cmd.newID, "new-id", false, "give this database an id of its own, if it is a copy or was restored, and do nothing else")
	c.Flags().BoolVar(&cmd.stdio, "stdio", false, "")
	_ = c.Flags().MarkHidden("stdio")
	return p.jsonFlag(c)
}

// teamClient returns the client of the team's server.
func (p *program) teamClient(cfg *config.Config) (teamsync.Client, error) {
	c := teamsync.Client{URL: cfg.Sync.URL, Token: cfg.Sync.Token}
	if strings.HasPrefix(c.URL, teamsync.PeerScheme) {
		return c, failed(exitConfig, "`lcm sync` exchanges messages with it; without --team the record of this machine answers", "sync.url names another machine and no team server: %s", safetext.Line(c.URL))
	}
	if c.URL == "" {
		return c, failed(exitConfig, "`lcm config set sync.url https://…`, or LCM_SYNC_URL; `lcm sync ssh://host` needs no server", "there is no team server: sync.url is not set")
	}
	if err := c.Check(); err != nil {
		return c, &failure{exitConfig, err}
	}
	if u, err := url.Parse(c.URL); err == nil && u.Scheme == "http" && !slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		p.warn("%s is not encrypted: the token can be read on the way", safetext.Line(c.URL))
	}
	return c, nil
}

// machineName is the name under which this machine pushes.
func machineName(cfg *config.Config) string {
	name := cfg.Sync.Machine
	if name == "" {
		name, _ = os.Hostname()
	}
	name = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(name, "-"), "-._")
	if name == "" {
		return "machine"
	}
	return name[:min(len(name), 64)]
}

// choose exchanges messages with a machine, answers one, or pushes to the server.
func (cmd *syncCommand) choose(c *cobra.Command, args []string) error {
	if cmd.stdio {
		return cmd.runs(toWrite, cmd.answer)(c, nil)
	}
	if cmd.newID {
		return cmd.runs(toWrite, func(ctx context.Context, rec *openRecord) error {
			return rec.newPusher(teamsync.Client{}).Renew(ctx)
		})(c, nil)
	}
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	url := cfg.Sync.URL
	if len(args) > 0 {
		url = args[0]
	}
	if len(args) == 0 && !strings.HasPrefix(url, teamsync.PeerScheme) {
		return cmd.runs(toRead, cmd.run)(c, nil)
	}
	return cmd.runs(toWrite, func(ctx context.Context, rec *openRecord) error { return cmd.exchange(ctx, rec, url) })(c, nil)
}

// teamPusher pushes the record of a database to the team's server: what was said on this machine.
func (cmd *syncCommand) teamPusher(ctx context.Context, rec *openRecord) (*teamsync.Pusher, error) {
	client, err := cmd.teamClient(rec.cfg)
	if err != nil {
		return nil, err
	}
	p := rec.newPusher(client)
	p.Received, err = teamserver.Received(ctx, p.Store, "")
	return p, err
}

func (rec *openRecord) newPusher(c teamsync.Client) *teamsync.Pusher {
	p := &teamsync.Pusher{Client: c, Store: rec.engine.Store(), Privacy: engineconfig.Privacy(rec.cfg), MachineName: machineName(rec.cfg)}
	home, err := os.UserHomeDir()
	for _, pattern := range rec.cfg.Sync.PrivateProjectPatterns {
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok && err == nil {
			pattern = filepath.Join(home, rest)
		}
		p.Private = append(p.Private, pattern)
	}
	return p
}

// syncTTL is the longest that another process of this machine waits for one that was killed.
const syncTTL = time.Minute

func (rec *openRecord) syncLeases() *lease.Leases {
	return &lease.Leases{State: rec.engine.Store(), Space: store.LeaseSpace, Clock: time.Now, Owner: process.Owner(), Ended: process.Ended, TTL: syncTTL}
}

// push pushes. If another process of this machine does, it waits for that one or, without
// wait, says that it is busy.
func (rec *openRecord) push(ctx context.Context, p *teamsync.Pusher, wait bool) (r teamsync.Report, busy bool, err error) {
	held, err := rec.syncLeases().Take(ctx, "sync"+p.Peer, wait)
	if errors.Is(err, lease.ErrBusy) {
		return r, true, nil
	}
	if err != nil {
		return r, false, err
	}
	defer func() { err = errors.Join(err, held.Release(ctx)) }()
	tell := p.Pushed
	p.Pushed = func(r teamsync.Report) {
		_ = held.Renew(ctx) // the server refuses two pushes at once anyway
		if tell != nil {
			tell(r)
		}
	}
	r, err = p.Push(ctx)
	return r, false, err
}

func (cmd *syncCommand) run(ctx context.Context, rec *openRecord) error {
	p, err := cmd.teamPusher(ctx, rec)
	if err != nil {
		return err
	}
	if cmd.verify {
		return cmd.compare(ctx, p)
	}
	bar := cmd.newBar("pushing")
	p.Pushed = func(r teamsync.Report) { bar.set(0, 0, prose.Number(r.Messages)+" messages") }
	r, busy, err := rec.push(ctx, p, false)
	if busy {
		cmd.note("waiting for another process that pushes, or was killed")
		r, _, err = rec.push(ctx, p, true)
	}
	bar.clear()
	if err == nil || r.Messages+r.Erased > 0 {
		err = errors.Join(cmd.print(r), err)
	}
	return teamFailure(err)
}

func (cmd *syncCommand) print(r teamsync.Report) error {
	cmd.printf("pushed %s (%s) of %s as %s@%s\n", prose.Count(r.Messages, "message", "messages"), prose.Size(r.Bytes),
		prose.Count(r.Conversations, "conversation", "conversations"), safetext.Line(r.User), r.Machine)
	if r.Erased > 0 {
		cmd.printf("erased %s on the server\n", prose.Count(r.Erased, "message", "messages"))
	}
	cmd.notes(r, "here", "on the server")
	if r.EraseDenied > 0 {
		cmd.warn("%s on the server: the token may not erase; ask for one with --erase, or have somebody forget them there", prose.Count(r.EraseDenied, "message that was forgotten here stays", "messages that were forgotten here stay"))
	}
	if n := len(r.Denied); n > 0 {
		names := strings.Join(r.Denied[:min(n, 5)], ", ")
		if n > 5 {
			names += ", …"
		}
		cmd.warn("nothing was sent of %s that the token may not push to: %s", prose.Count(n, "project", "projects"), safetext.Line(names))
	}
	return cmd.emit(r)
}

// notes says which messages of a push stay at one side, and which the other one refused.
func (cmd *syncCommand) notes(r teamsync.Report, here, there string) {
	if r.Masked > 0 {
		cmd.note("%s a mark such as [redacted: token] in place of a secret or a private block, in the text or in another field of the record",
			prose.Count(r.Masked, "pushed message has", "pushed messages have"))
	}
	if r.Private > 0 {
		cmd.note("%s %s: ignored or private", prose.Count(r.Private, "conversation stays", "conversations stay"), here)
	}
	if r.Entered > 0 {
		cmd.note("the new messages of %s %s: one of them was said in an ignored or private project", prose.Count(r.Entered, "conversation stay", "conversations stay"), here)
	}
	if r.Forgotten > 0 {
		cmd.note("%s refused: erased %s", prose.Count(r.Forgotten, "message was", "messages were"), there)
	}
}

// compare proves that the server has what was pushed.
func (cmd *syncCommand) compare(ctx context.Context, p *teamsync.Pusher) error {
	v, err := p.Verify(ctx)
	if err != nil {
		return teamFailure(err)
	}
	err = cmd.result(v, "%s of %s agree with the server\n", prose.Count(v.Messages, "message", "messages"), prose.Count(v.Conversations-len(v.Differ), "conversation", "conversations"))
	if v.ErasedThere > 0 {
		cmd.note("%s on the server, and not here", prose.Count(v.ErasedThere, "message was erased", "messages were erased"))
	}
	if len(v.Differ) > 0 {
		err = errors.Join(err, failed(exitFaults, "`lcm verify --all` on both sides tells which record is damaged",
			"the server has other messages of %s: %s", prose.Count(len(v.Differ), "conversation", "conversations"), fmt.Sprint(v.Differ)))
	}
	return err
}
