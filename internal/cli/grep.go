package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/record"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

type grepCommand struct {
	*program
	where
	recall.GrepRequest
	mode, sort, role string
	files            []string
	words            bool
	ignoreCase       bool
	heading          bool
	team             bool
	timeout          time.Duration
}

// grepLimit is how many matches are printed by default: a page.
const grepLimit = 10

func newGrep(p *program) *cobra.Command {
	cmd := &grepCommand{program: p, heading: p.terminal}
	c := &cobra.Command{
		Use:   "grep PATTERN",
		Short: "Find where something was said",
		Args:  usage(cobra.ExactArgs(1)),
	}
	c.RunE = withTeam(p, &cmd.team, &cmd.where, cmd.complete, cmd.where.runs(p, &cmd.Where, cmd.complete, cmd.grep), cmd.grepTeam)
	cmd.where.flags(c)
	fl := c.Flags()
	teamFlag(c, &cmd.team)
	fl.StringVar(&cmd.mode, "mode", string(store.Regex), "regex or full_text")
	fl.BoolVarP(&cmd.words, "full-text", "F", false, "short for --mode full_text")
	fl.BoolVarP(&cmd.ignoreCase, "ignore-case", "i", false, "match upper and lower case alike, as --full-text always does")
	fl.StringVar(&cmd.Kinds, "scope", recall.InBoth, "messages, summaries, both or files")
	fl.StringSliceVar(&cmd.files, "file-ids", nil, "only these payloads; sets --scope files")
	fl.StringVar(&cmd.Since, "since", "", "not before this time, like 7d, yesterday, 2026-02-19 or 2026-02-19T08:30")
	fl.StringVar(&cmd.Before, "before", "", "before this time, written as for --since")
	fl.IntVarP(&cmd.Limit, "limit", "n", grepLimit, "at most this many matches, up to 200; 0 for no limit")
	fl.StringVar(&cmd.sort, "sort", "", "recency, relevance or hybrid (default recency for a regex, else relevance)")
	fl.StringVar(&cmd.role, "role", "", "only messages of user, assistant, system or tool")
	fl.StringVar(&cmd.Tool, "tool", "", "only calls of this tool and their results")
	fl.IntVarP(&cmd.Context, "context", "C", 0, "show this many messages before and after each, 0 to 20")
	fl.BoolVar(&cmd.Everything, "everything", false, "also find the current prompt, lcm's own answers and hosts' bookkeeping")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
	fl.DurationVar(&cmd.timeout, "timeout", 0, "stop after this long and print the matches so far (default: never)")
	fl.BoolVar(&cmd.heading, "heading", cmd.heading, "group matches under their conversations (default: on a terminal)")
	fl.Lookup("heading").DefValue = "" // it depends on the terminal, and the text says so
	return cmd.jsonFlag(c)
}

// complete makes the request of the flags.
func (cmd *grepCommand) complete(c *cobra.Command, args []string) (err error) {
	cmd.oneMeansNoMatch = true
	if cmd.words {
		if c.Flags().Changed("mode") && cmd.mode != string(store.FullText) {
			return wrongUsage(c, fmt.Errorf("--full-text and --mode %s exclude each other", cmd.mode))
		}
		cmd.mode = string(store.FullText)
	}
	cmd.FileIDs = typedIDs[record.PayloadID](cmd.files)
	if len(cmd.FileIDs) > 0 && !c.Flags().Changed("scope") {
		cmd.Kinds = recall.InFiles
	}
	if cmd.Since, cmd.Before, err = timeSpan(cmd.Since, cmd.Before, time.Now()); err != nil {
		return wrongUsage(c, err)
	}
	cmd.Pattern, cmd.Mode, cmd.Sort, cmd.Role = args[0], store.Mode(cmd.mode), store.Sort(cmd.sort), llms.Role(cmd.role)
	if cmd.ignoreCase && cmd.mode == string(store.Regex) {
		cmd.Pattern = "(?i)" + cmd.Pattern
	}
	cmd.OrWords, cmd.Compact = !c.Flags().Changed("mode"), true
	return nil
}

func (cmd *grepCommand) grep(ctx context.Context, rec *openRecord, svc *lcm.Engine) error {
	if cmd.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmd.timeout)
		defer cancel()
	}
	answer, err := everyPage(cmd.GrepRequest, func(r recall.GrepRequest) (recall.GrepAnswer, error) { return svc.Grep(ctx, r) })
	if err != nil {
		return err
	}
	return cmd.show(ctx, rec, answer)
}

// everyPage asks for page after page where there is no limit.
func everyPage(r recall.GrepRequest, ask func(recall.GrepRequest) (recall.GrepAnswer, error)) (recall.GrepAnswer, error) {
	if r.Limit != 0 {
		return ask(r)
	}
	r.Limit = recall.MaxLimit
	answer, err := ask(r)
	for err == nil && answer.NextCursor != "" {
		r.Cursor = answer.NextCursor
		before := answer.Matches
		if answer, err = ask(r); err == nil {
			answer.Matches = append(before, answer.Matches...)
		}
	}
	return answer, err
}

// show prints an answer. rec is nil if it is the team's server's.
func (cmd *grepCommand) show(ctx context.Context, rec *openRecord, answer recall.GrepAnswer) (err error) {
	damaged := 0
	for _, m := range answer.Matches {
		if m.Damaged {
			damaged++
		}
	}
	if err = cmd.print(ctx, rec, answer); err == nil {
		err = cmd.emit(answer)
	}
	if err == nil && len(answer.Matches) == 0 {
		err = errNoMatch
	}
	return errors.Join(err, damageShown(damaged))
}

// print prints matches under their conversations, or a line for each.
func (cmd *grepCommand) print(ctx context.Context, rec *openRecord, answer recall.GrepAnswer) error {
	if cmd.heading && len(answer.Matches) > 0 {
		cmd.note("times are %s", prose.Zone(time.Now()))
	}
	last := store.ConversationID(0)
	for i, m := range answer.Matches {
		match, beside := cmd.printLine, cmd.printLineBeside
		if cmd.heading {
			match, beside = cmd.printGrouped, cmd.printGroupedBeside
			if m.ConversationID != last {
				if i > 0 {
					cmd.printf("\n")
				}
				if err := cmd.printHeading(ctx, rec, m); err != nil {
					return err
				}
				last = m.ConversationID
			}
			cmd.printf("%s\n", cmd.paint(green, safetext.Line(m.Heading(stamp))))
		}
		around := recall.Context{}
		if m.Context != nil {
			around = *m.Context
		}
		for _, n := range around.Before {
			beside(m, n)
		}
		match(m)
		for _, n := range around.After {
			beside(m, n)
		}
	}
	cmd.grepNotes(answer)
	return nil
}

// printHeading prints the conversation of the matches below.
func (cmd *grepCommand) printHeading(ctx context.Context, rec *openRecord, m recall.Match) error {
	host, title := m.Host, m.Title
	var err error
	if rec != nil {
		var c store.Conversation
		c, err = rec.db.Conversation(ctx, m.ConversationID)
		host, title = c.Agent, cmp.Or(c.Title, c.Key)
	}
	line := fmt.Sprintf("conversation %d", m.ConversationID)
	for _, part := range []string{host, title, m.Project} {
		if part != "" {
			line += " · " + part
		}
	}
	if err == nil {
		cmd.printf("%s\n", cmd.paint(bold, safetext.Line(line)))
	}
	return err
}

func (cmd *grepCommand) marked(m recall.Match) string {
	if !cmd.colour {
		return m.Mark("", "", cmd.shown)
	}
	return m.Mark("\x1b[1;31m", "\x1b[0m", cmd.shown) // the colour of ripgrep
}

func (cmd *grepCommand) printGrouped(m recall.Match) {
	text := m.Ellipses(cmd.marked(m), cmd.paint(dim, "[…]"))
	cmd.printf("  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
}

func (cmd *grepCommand) printGroupedBeside(_ recall.Match, n recall.Neighbour) {
	cmd.printf("%s\n", cmd.paint(dim, clip(fmt.Sprintf("  %s %s: %s", n.ID, n.Role, safetext.Line(n.Snippet)), 120)))
}

// printLine prints a match as grep does: lines around it have hyphens for colons.
func (cmd *grepCommand) printLine(m recall.Match) {
	sep, mark := ":", ""
	if m.Beside || m.Meaning {
		sep = "-"
	}
	if m.Damaged {
		mark = "[DAMAGED] "
	}
	if cmd.team { // who said it
		mark += safetext.Line(m.Host) + sep + " "
	}
	cmd.printf("%d%s%s%s%s%s\n", m.ConversationID, sep, m.ID, sep, mark, cmd.shown(matchedLine(m)))
}

func (cmd *grepCommand) printLineBeside(m recall.Match, n recall.Neighbour) {
	line, _, _ := strings.Cut(n.Snippet, "\n")
	cmd.printf("%d-%s-%s\n", m.ConversationID, n.ID, cmd.shown(line))
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
	if cmd.team && len(answer.Matches) > 0 {
		cmd.note("these ids are the server's: `lcm describe --team ID` shows one")
	}
	if e := answer.Elsewhere; e != nil {
		cmd.note("%s elsewhere: add --all", prose.Count(e.Hits, "match", "matches"))
	}
	printNotes(cmd.program, answer.Notes, answer.NextCursor)
}
