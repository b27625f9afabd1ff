package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

type grepCommand struct {
	*program
	where
	recall.GrepRequest
	mode, sort, role string
	words            bool
	ignoreCase       bool
	heading          bool
	timeout          time.Duration
}

const grepLong = `Find where something was said: in text, tool arguments, tool output, reasoning
and payloads, at any age, and in summaries. PATTERN is a regular expression
(RE2; -i ignores case), or with --full-text words or a question: words are
ranked, "a phrase" and +word must occur, -word must not, pre* is a beginning. A
pattern of plain words that matches nothing is searched for as words, unless
--mode regex is given.

It looks in all sessions of this project, of every agent. Where they have fewer
than three matches, or other projects a clearly better one, it looks in all
conversations and says so; --project-only does not.

On a terminal matches are grouped under their conversations, else each is a
line: conversation, id and the line that matched, with colons between, or with
hyphens where a message only stands beside a match, as ranked searches show
them. --heading and --heading=false choose. lcm describe shows a match whole.

--since and --before go by the time of a message; a summary stands at the newest
message that it covers. A time without a zone is local.

The exit code is 0 if something was found, 1 if nothing was, and 2 or more if the
search failed.`

// grepLimit is how many matches are printed by default: a page.
const grepLimit = 10

func newGrep(p *program) *cobra.Command {
	cmd := &grepCommand{program: p, heading: p.terminal}
	c := &cobra.Command{
		Use:   "grep PATTERN",
		Short: "Find where something was said",
		Long:  grepLong,
		Example: `lcm grep deploy
lcm grep 'panic: .*nil pointer'
lcm grep --full-text 'why did the deployment fail?'
lcm grep -a -n 10 TLS_CERT_PATH
lcm grep -i --since 7d --role user --context 1 deploy`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.oneMeansNoMatch = true
			if err := cmd.complete(c, args[0]); err != nil {
				return err
			}
			return cmd.where.ask(c.Context(), cmd.program, func(ar *archive, svc *recall.Service, at recall.Where) error {
				cmd.Where = at
				return cmd.grep(c.Context(), ar, svc)
			})
		},
	}
	cmd.where.flags(c)
	fl := c.Flags()
	fl.StringVar(&cmd.mode, "mode", string(store.Regex), "regex or full_text")
	fl.BoolVarP(&cmd.words, "full-text", "F", false, "short for --mode full_text")
	fl.BoolVarP(&cmd.ignoreCase, "ignore-case", "i", false, "match upper and lower case alike, as --full-text always does")
	fl.StringVar(&cmd.Scope, "scope", recall.InBoth, "messages, summaries, both or files")
	fl.StringSliceVar(&cmd.FileIDs, "file-ids", nil, "only these payloads; sets --scope files")
	fl.StringVar(&cmd.Since, "since", "", "not before this time, like 7d, yesterday, 2026-02-19 or 2026-02-19T08:30")
	fl.StringVar(&cmd.Before, "before", "", "before this time, written as for --since")
	fl.IntVarP(&cmd.Limit, "limit", "n", grepLimit, "at most this many matches, 1 to 200")
	fl.StringVar(&cmd.sort, "sort", "", "recency, relevance or hybrid (default recency for a regex, else relevance)")
	fl.StringVar(&cmd.role, "role", "", "only messages of user, assistant, system or tool")
	fl.StringVar(&cmd.Tool, "tool", "", "only calls of this tool and their results")
	fl.IntVarP(&cmd.Context, "context", "C", 0, "show this many messages before and after each, 0 to 20")
	fl.BoolVar(&cmd.Everything, "everything", false, "also find the current prompt, what lcm itself said and hosts' bookkeeping")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
	fl.DurationVar(&cmd.timeout, "timeout", 0, "give up after this long, with what was found (default: never)")
	fl.BoolVar(&cmd.heading, "heading", cmd.heading, "group matches under their conversations (default: on a terminal)")
	fl.Lookup("heading").DefValue = "" // it depends on the terminal, and the text says so
	cmd.jsonFlag(c)
	return c
}

// complete makes the request of the flags.
func (cmd *grepCommand) complete(c *cobra.Command, pattern string) error {
	if c.Flags().Changed("limit") && cmd.Limit == 0 {
		// 0 asks for the default only where it was not typed.
		return failed(exitUsage, "page through more with --cursor", "limit is 0: it must be from 1 to %d", recall.MaxLimit)
	}
	if cmd.words {
		if c.Flags().Changed("mode") && cmd.mode != string(store.FullText) {
			return wrongUsage(c, fmt.Errorf("--full-text and --mode %s exclude each other", cmd.mode))
		}
		cmd.mode = string(store.FullText)
	}
	if len(cmd.FileIDs) > 0 && !c.Flags().Changed("scope") {
		cmd.Scope = recall.InFiles
	}
	var err error
	if cmd.Since, cmd.Before, err = timeSpan(cmd.Since, cmd.Before, time.Now()); err != nil {
		return wrongUsage(c, err)
	}
	if cmd.ignoreCase && cmd.mode == string(store.Regex) {
		pattern = "(?i)" + pattern
	}
	cmd.Pattern, cmd.Mode, cmd.Sort, cmd.Role = pattern, store.Mode(cmd.mode), store.Sort(cmd.sort), llms.Role(cmd.role)
	cmd.OrWords, cmd.Compact = !c.Flags().Changed("mode"), true
	return nil
}

func (cmd *grepCommand) grep(ctx context.Context, ar *archive, svc *recall.Service) error {
	if cmd.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmd.timeout)
		defer cancel()
	}
	answer, err := svc.Grep(ctx, cmd.GrepRequest)
	if err != nil {
		return err
	}
	damaged := 0
	for _, m := range answer.Matches {
		if m.Damaged {
			damaged++
		}
	}
	switch {
	case cmd.json:
		err = cmd.printJSON(answer)
	case cmd.heading:
		if len(answer.Matches) > 0 {
			cmd.note("times are %s", zone(time.Now()))
		}
		err = cmd.grepGrouped(ctx, ar, answer)
	default:
		cmd.grepLines(answer)
	}
	if !cmd.json {
		cmd.grepNotes(answer)
	}
	if err == nil && len(answer.Matches) == 0 {
		err = errNoMatch
	}
	return errors.Join(err, damageShown(damaged))
}

// The colours of ripgrep.
const (
	matchOn  = "\x1b[1;31m"
	matchOff = "\x1b[0m"
)

func (cmd *grepCommand) marked(m recall.Match) string {
	if !cmd.colour {
		return m.Mark("", "", cmd.shown)
	}
	return m.Mark(matchOn, matchOff, cmd.shown)
}

// grepGrouped prints matches under their conversations.
func (cmd *grepCommand) grepGrouped(ctx context.Context, ar *archive, answer recall.GrepAnswer) error {
	last := store.ConversationID(0)
	for i, m := range answer.Matches {
		if m.ConversationID != last {
			c, err := ar.db.Conversation(ctx, m.ConversationID)
			if err != nil {
				return err
			}
			if i > 0 {
				cmd.printf("\n")
			}
			title := c.Title
			if title == "" {
				title = c.Key
			}
			line := fmt.Sprintf("conversation %d", c.ID)
			for _, part := range []string{c.Agent, title, m.Project} {
				if part != "" {
					line += " · " + part
				}
			}
			cmd.printf("%s\n", cmd.paint(bold, safetext.Line(line)))
			last = m.ConversationID
		}
		cmd.printf("%s\n", cmd.paint(green, safetext.Line(m.Heading(stamp))))
		if m.Context != nil {
			cmd.grepNeighbours(m.Context.Before)
		}
		text := cmd.marked(m)
		if m.Truncated {
			text += cmd.paint(dim, " […]")
		}
		cmd.printf("  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
		if m.Context != nil {
			cmd.grepNeighbours(m.Context.After)
		}
	}
	return nil
}

func (cmd *grepCommand) grepNeighbours(all []recall.Neighbour) {
	for _, n := range all {
		cmd.printf("%s\n", cmd.paint(dim, clip(fmt.Sprintf("  %s %s: %s", n.ID, n.Role, safetext.Line(n.Snippet)), 120)))
	}
}

// grepLines prints a line for each match, for other programs to read. As in
// grep's output, lines around a match have hyphens for colons.
func (cmd *grepCommand) grepLines(answer recall.GrepAnswer) {
	for _, m := range answer.Matches {
		var before, after []recall.Neighbour
		if m.Context != nil {
			before, after = m.Context.Before, m.Context.After
		}
		cmd.grepBeside(m.ConversationID, before)
		sep := ":"
		if m.Beside {
			sep = "-"
		}
		mark := ""
		if m.Damaged {
			mark = "[DAMAGED] "
		}
		cmd.printf("%d%s%s%s%s%s\n", m.ConversationID, sep, m.ID, sep, mark, cmd.shown(matchedLine(m)))
		cmd.grepBeside(m.ConversationID, after)
	}
}

func (cmd *grepCommand) grepBeside(in store.ConversationID, all []recall.Neighbour) {
	for _, n := range all {
		line, _, _ := strings.Cut(n.Snippet, "\n")
		cmd.printf("%d-%s-%s\n", in, n.ID, cmd.shown(line))
	}
}

// matchedLine is the line of a snippet in which the first match begins.
func matchedLine(m recall.Match) string {
	runes := []rune(m.Snippet)
	at := 0
	if len(m.MatchRanges) > 0 {
		at = min(m.MatchRanges[0][0], len(runes))
	}
	before, after := string(runes[:at]), string(runes[at:])
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	return before + after
}

// grepNotes tells how many there are and how to see more.
func (cmd *grepCommand) grepNotes(answer recall.GrepAnswer) {
	cmd.note("%s", safetext.Line(answer.Headline()))
	if e := answer.Elsewhere; e != nil {
		cmd.note("%s elsewhere: add --all-conversations", prose.Count(e.Hits, "match", "matches"))
	}
	printNotes(cmd.program, answer.Notes)
	if answer.NextCursor != "" {
		cmd.note("--cursor %s", answer.NextCursor)
	}
}
