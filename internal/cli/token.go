package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/team/access"
)

func newToken(p *program) *cobra.Command {
	return newParent("token", "Manage access tokens", newTokenAdd(p), newTokenList(p), newTokenRevoke(p))
}

type tokenAdd struct {
	*program
	access.Token
	all     bool
	expires string
}

func newTokenAdd(p *program) *cobra.Command {
	cmd := &tokenAdd{program: p}
	c := &cobra.Command{
		Use:   "add",
		Short: "Make a token and show it once",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case cmd.User == "":
				return wrongUsage(c, errors.New("--user is missing: it says whose token it is"))
			case cmd.all && len(cmd.Projects) > 0:
				return wrongUsage(c, errors.New("--project and --all-projects exclude each other"))
			case !cmd.all && len(cmd.Projects) == 0:
				return wrongUsage(c, errors.New("say what the token may see: --project PATTERN, once or more, or --all-projects"))
			}
			now := time.Now()
			if cmd.expires != "never" {
				ago, ok := lookup.Ago(cmd.expires, now) // 90d, 24h
				if ok {
					cmd.Expires = now.Add(now.Sub(ago))
				} else if t, err := readTime("expires", cmd.expires, now); err != nil || t.IsZero() {
					return wrongUsage(c, fmt.Errorf("--expires takes how long it is valid (24h, 90d), a time like 2027-01-31, or never, not %q", cmd.expires))
				} else {
					cmd.Expires = t
				}
			}
			return p.runs(toWrite, cmd.add)(c, nil)
		},
	}
	fl := c.Flags()
	fl.StringVar(&cmd.User, "user", "", "whose token it is")
	fl.StringSliceVar(&cmd.Projects, "project", nil, "project that it may see: a git origin or a directory, * stands for any characters")
	fl.BoolVar(&cmd.all, "all-projects", false, "it may see every project")
	fl.BoolVar(&cmd.Append, "append", false, "it may add messages")
	fl.BoolVar(&cmd.Erase, "erase", false, "it may erase messages")
	fl.StringVar(&cmd.expires, "expires", "90d", "how long it is valid, a time, or never")
	return cmd.jsonFlag(c)
}

// addedToken is the result of `lcm team token add`.
type addedToken struct {
	Text string `json:"token"`
	access.Token
}

// tokens returns the tokens of a database.
func (rec *openRecord) tokens() access.Tokens {
	return access.Tokens{State: rec.engine.Store(), Clock: time.Now}
}

// localUser is the name in the audit for an action on this machine.
func localUser() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + " (on this machine)"
}

func (cmd *tokenAdd) add(ctx context.Context, rec *openRecord) error {
	text, added, err := rec.tokens().Add(ctx, cmd.Token, localUser())
	if err != nil {
		return failed(exitUsage, "`lcm team token add --help` shows how it is used", "%w", err)
	}
	cmd.printf("%s\n", text)
	cmd.note("this is shown once; %s sets it as sync.token or LCM_SYNC_TOKEN, or sends it as a bearer token", added.User)
	cmd.note("`lcm team token revoke %s` ends it", added.ID)
	return cmd.emit(addedToken{text, added})
}

func newTokenList(p *program) *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their texts",
		Args:  usage(cobra.NoArgs),
		RunE: p.runs(toRead, func(ctx context.Context, rec *openRecord) error {
			all, err := rec.tokens().List(ctx)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				p.note("there is no token: `lcm team token add` makes one")
			}
			t := newTable("id", "user", "rights", "projects", "expires", "state")
			for _, k := range all {
				t.add(k.ID, safetext.Line(k.User), k.Rights(), safetext.Line(cmp.Or(strings.Join(k.Projects, " "), "all")), stamp(k.Expires), k.State(time.Now()))
			}
			p.printTable(t)
			return p.emit(list(all))
		}),
	})
}

func newTokenRevoke(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return p.use(c.Context(), toRead, func(rec *openRecord) error {
				t, err := rec.tokens().Revoke(c.Context(), args[0], localUser())
				if err != nil {
					return advise(exitNotFound, "`lcm team token list` shows the ids", err)
				}
				p.note("token %s of %s is revoked: its next request is refused", t.ID, t.User)
				return nil
			})
		},
	}
}

func newAudit(p *program) *cobra.Command {
	return p.jsonFlag(&cobra.Command{
		Use:   "audit",
		Short: "List who erased messages or changed tokens",
		Args:  usage(cobra.NoArgs),
		RunE: p.runs(toRead, func(ctx context.Context, rec *openRecord) error {
			all, err := rec.audit().List(ctx)
			if err != nil {
				return err
			}
			t := newTable("when", "who", "action", "detail")
			for _, e := range all {
				t.add(stamp(e.Time), safetext.Line(e.Who), e.Action, safetext.Line(e.Detail))
			}
			if len(all) == 0 {
				p.note("nothing was erased, and no token was made")
			}
			p.printTable(t)
			return p.emit(list(all))
		}),
	})
}

// audit returns the audit of a database.
func (rec *openRecord) audit() access.Audit {
	return access.Audit{State: rec.engine.Store(), Clock: time.Now}
}
