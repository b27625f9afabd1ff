package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall/why"
)

func newWhy(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "why FILE[:LINE]",
		Short: "Show the prompt and the call behind a line of a file",
		Args:  usage(cobra.ExactArgs(1)),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		p.oneMeansNoMatch = true
		return p.runs(toRead, func(ctx context.Context, rec *openRecord) error {
			if err := rec.hasMessages(ctx); err != nil {
				return err
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			file, line := fileAndLine(args[0])
			if line < 0 {
				return wrongUsage(c, fmt.Errorf("%s has a wrong line: they are counted from 1", args[0]))
			}
			answer, err := why.Ask(ctx, rec.db, dir, file, line)
			if err != nil {
				return recallFailure(c, err)
			}
			if err := p.emit(answer); err != nil {
				return err
			}
			printWhy(p, answer)
			if len(answer.Origins) == 0 {
				return errNoMatch
			}
			return nil
		})(c, args)
	}
	return p.jsonFlag(c)
}

// fileAndLine splits FILE:LINE; the line is -1 if there is none of that number. A file that has such a
// name itself is that file.
func fileAndLine(arg string) (file string, line int) {
	if i := strings.LastIndexByte(arg, ':'); i > 0 {
		if _, err := os.Stat(arg); err != nil {
			if n, err := strconv.Atoi(arg[i+1:]); err == nil && n > 0 {
				return arg[:i], n
			} else if err == nil {
				return arg[:i], -1
			}
		}
	}
	return arg, 0
}

func printWhy(p *program, a why.Answer) {
	if a.Line > 0 {
		p.printf("%s\n", p.paint(dim, strings.TrimRight(safetext.Line(a.File)+":"+strconv.Itoa(a.Line)+"  "+safetext.Line(a.Text), " ")))
	}
	for i, o := range a.Origins {
		if i > 0 {
			p.printf("\n")
		}
		line := o.ID.String() + " · conversation " + strconv.FormatInt(int64(o.Conversation), 10) + " · " + stamp(o.At) + " · " + safetext.Line(o.Tool)
		if o.Changes > 1 {
			line += " · " + prose.Count(o.Changes, "change", "changes")
		}
		p.printf("%s\n", p.paint(cyan, line))
		if o.Prompt != "" {
			p.printf("  prompt %s: %s\n", o.PromptID, safetext.Line(prose.Clip(o.Prompt, 400)))
		}
		if o.Asked != "" {
			p.printf("  in answer to: %s\n", safetext.Line(o.Asked))
		}
		if o.Said != "" && a.Line > 0 {
			p.printf("  agent: %s\n", safetext.Line(prose.Clip(o.Said, 400)))
		}
	}
	if c := a.Commit; c != nil {
		p.printf("  commit %.10s · %s · %s: %s\n", c.Hash, stamp(c.At), safetext.Line(c.Author), safetext.Line(c.Subject))
	}
	if a.Note != "" {
		p.note("%s", a.Note)
	}
}
