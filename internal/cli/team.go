package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/recall"
)

// teamFlag gives a command that recalls its --team.
func teamFlag(c *cobra.Command, team *bool) {
	c.Flags().BoolVar(team, "team", false, "look in the record of the team's server (sync.url)")
}

// withTeam returns the RunE of a command that recalls from this machine's record or, with
// --team, from the server's.
func withTeam(p *program, team *bool, w *where, complete func(*cobra.Command, []string) error,
	local func(*cobra.Command, []string) error, remote func(context.Context, teamsync.Client) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if !*team {
			return local(c, args)
		}
		if w.projectOnly || w.currentOnly {
			return wrongUsage(c, errors.New("--team looks in all projects that the token may see: leave --project-only and --all=false out"))
		}
		if err := complete(c, args); err != nil {
			return err
		}
		cfg, err := p.settings()
		if err != nil {
			return err
		}
		client, err := p.teamClient(cfg)
		if err != nil {
			return err
		}
		return teamFailure(remote(c.Context(), client))
	}
}

// teamFailure gives a request that the server refused its exit code and its words.
func teamFailure(err error) error {
	var refused *teamsync.RequestError
	if !errors.As(err, &refused) {
		return err
	}
	code := exitFailure
	switch refused.Code {
	case http.StatusBadRequest:
		code = exitUsage
	case http.StatusNotFound:
		code = exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		code = exitConfig
	}
	text, advice := split(err)
	return failed(code, recallWords.Replace(advice), "%s", recallWords.Replace(text))
}

func (cmd *grepCommand) grepTeam(ctx context.Context, c teamsync.Client) error {
	cmd.ConversationID = store.ConversationID(cmd.number)
	seen, size := map[string]bool{}, 0
	answer, err := everyPage(cmd.GrepRequest, func(r recall.GrepRequest) (a recall.GrepAnswer, err error) {
		if seen[r.Cursor] {
			return a, errors.New("the server answers the same page again and again")
		}
		if size > maxTeamPages {
			return a, failed(exitFailure, "name a time, a role or a --limit", "the server has too many matches to print them together: more than 64 MiB, or a thousand pages")
		}
		seen[r.Cursor] = true
		a, err = c.Grep(ctx, r)
		text, _ := json.Marshal(a) // it was JSON
		size += max(len(text), maxTeamPages/1000)
		return a, err
	})
	if err != nil {
		return err
	}
	return cmd.show(answer)
}

// maxTeamPages bounds all pages of a search together, in bytes. None counts for less than
// its thousandth part, so that a server cannot go on for ever with empty ones.
const maxTeamPages = 64 << 20

func (cmd *describeCommand) describeTeam(ctx context.Context, c teamsync.Client) error {
	cmd.Where = recall.Where{ConversationID: store.ConversationID(cmd.number)}
	answer, err := c.Describe(ctx, cmd.DescribeRequest)
	if err != nil {
		return err
	}
	if err := cmd.result(answer.Answer, "%s", cmd.shown(answer.Text)); err != nil || !answer.Damaged {
		return err
	}
	return damageShown(1)
}

func (cmd *askCommand) askTeam(ctx context.Context, c teamsync.Client) error {
	cmd.Question.Where = recall.Where{ConversationID: store.ConversationID(cmd.number)}
	answer, err := c.Ask(ctx, cmd.Question)
	if err != nil {
		return err
	}
	return cmd.show(ctx, answer, nil)
}
