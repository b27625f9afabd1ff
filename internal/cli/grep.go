package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/gonefiles"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

type grepCommand struct {
	*program
	where
	recall.GrepRequest
	mode, sort, role string
	words            bool
	ignoreCase       bool
	team             bool
}

// grepLimit is how many matches are printed by default: a page.
const grepLimit = 10

func newGrep(p *program) *cobra.Command {
	cmd := &grepCommand{program: p}
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
	fl.BoolVarP(&cmd.ignoreCase, "ignore-case", "i", false, "match upper and lower case alike")
	fl.StringVar(&cmd.Kinds, "scope", recall.InBoth, "messages, summaries or both")
	fl.StringVar(&cmd.Since, "since", "", "from this time on: 7d, yesterday, 2026-02-19T08:30")
	fl.StringVar(&cmd.Before, "before", "", "before this time")
	fl.IntVarP(&cmd.Limit, "limit", "n", grepLimit, "most matches, 0 for all")
	fl.StringVar(&cmd.sort, "sort", "", "recency (of a regex) or relevance")
	fl.StringVar(&cmd.role, "role", "", "user, assistant, system or tool")
	fl.StringVar(&cmd.Tool, "tool", "", "calls of this tool and their results")
	fl.IntVarP(&cmd.Context, "context", "C", 0, "messages to show around each")
	fl.BoolVar(&cmd.Everything, "everything", false, "also lcm's own answers and hosts' bookkeeping")
	fl.StringVar(&cmd.Cursor, "cursor", "", "go on where a page ended")
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
	if cmd.Limit < 0 || cmd.Limit > recall.MaxLimit {
		return wrongUsage(c, fmt.Errorf("--limit is %d: it must be from 1 to %d, or 0 for no limit", cmd.Limit, recall.MaxLimit))
	}
	if cmd.Since, cmd.Before, err = timeSpan(cmd.Since, cmd.Before, time.Now()); err != nil {
		return wrongUsage(c, err)
	}
	cmd.Pattern, cmd.Mode, cmd.Sort, cmd.Role = args[0], store.Mode(cmd.mode), store.Sort(cmd.sort), llms.Role(cmd.role)
	if cmd.ignoreCase && cmd.mode == string(store.Regex) {
		cmd.Pattern = "(?i)" + cmd.Pattern
	}
	cmd.OrWords, cmd.Compact = !c.Flags().Changed("mode") || cmd.Mode == store.FullText, true
	return nil
}

func (cmd *grepCommand) grep(ctx context.Context, _ *openRecord, svc *lcm.Engine) error {
	// As in a hook; collections took a fifth of the processor time of a question.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	answer, err := everyPage(cmd.GrepRequest, func(r recall.GrepRequest) (recall.GrepAnswer, error) { return svc.Grep(ctx, r) })
	if err != nil {
		return err
	}
	answer.Notes = append(answer.Notes, gonefiles.InMatches(".", answer)...)
	return cmd.show(answer)
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

// show prints the matches as grep does: colons around the id of a match, hyphens around
// those of lines next to one.
func (cmd *grepCommand) show(answer recall.GrepAnswer) error {
	damaged := 0
	switch absent := safetext.Line(prose.NotInRecord(answer.NotInRecord)); {
	case len(answer.NotInRecord) == 0:
	case cmd.Mode != store.FullText: // whose output is matches alone
		cmd.note("%s", absent)
	case len(answer.Matches) == 0:
		cmd.printf("%s\n", absent)
	default:
		cmd.printf("%s\nresults with the other words:\n", absent)
	}
	for _, m := range answer.Matches {
		sep, mark := ":", ""
		if m.Beside {
			sep = "-"
		}
		if m.Damaged {
			damaged++
			mark = "[DAMAGED] "
		}
		if cmd.team { // who said it
			mark += safetext.Line(m.Host) + sep + " "
		}
		if m.Earlier != "" {
			mark += "[" + safetext.Line(m.Earlier) + "] "
		}
		around := recall.Context{}
		if m.Context != nil {
			around = *m.Context
		}
		for _, n := range slices.Concat(around.Before, around.After) {
			if n.Damaged {
				damaged++
			}
		}
		cmd.printBeside(m, around.Before)
		cmd.printf("%d%s%s%s%s%s\n", m.ConversationID, sep, cmd.paint(green, m.ID.String()), sep, mark, cmd.matchedLine(m))
		cmd.printBeside(m, around.After)
	}
	cmd.grepNotes(answer)
	err := cmd.emit(answer)
	if err == nil && len(answer.Matches) == 0 && cmd.Cursor == "" { // the last page may be empty
		err = errNoMatch
	}
	return errors.Join(err, damageShown(damaged))
}

func (cmd *grepCommand) printBeside(m recall.Match, all []recall.Neighbour) {
	for _, n := range all {
		line := firstLine(n.Snippet)
		if n.Truncated && line == n.Snippet {
			line += " […]"
		}
		cmd.printf("%d-%s-%s\n", m.ConversationID, n.ID, cmd.shown(line))
	}
}

// matchedLine is the line of a snippet in which the first match begins.
func (cmd *grepCommand) matchedLine(m recall.Match) string {
	runes, at := []rune(m.Snippet), 0
	if len(m.MatchRanges) > 0 {
		at = max(0, min(m.MatchRanges[0][0], len(runes))) // a team server may lie
	}
	from, to := at, at+len([]rune(firstLine(string(runes[at:]))))
	for from > 0 && runes[from-1] != '\n' {
		from--
	}
	line := recall.Match{Snippet: string(runes[from:to]), CutBefore: from == 0 && m.CutBefore, CutAfter: to == len(runes) && (m.CutAfter || m.Truncated && !m.CutBefore)}
	for _, r := range m.MatchRanges {
		line.MatchRanges = append(line.MatchRanges, [2]int{r[0] - from, min(r[1], to) - from})
	}
	open, close := "", ""
	if cmd.colour {
		open, close = "\x1b[1;31m", "\x1b[0m" // the colour of ripgrep
	}
	return line.Ellipses(line.Mark(open, close, cmd.shown), "[…]")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
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
