package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/tools"
)

type explanation struct {
	SubjectType string `json:"subjectType"`
	SubjectName string `json:"subjectName"`
	Text        string `json:"text"`
}

// newExplain is the tool expand on the command line.
func newExplain(p *program) *cobra.Command {
	troubleshoot := false
	c := &cobra.Command{
		Use:   "explain tool|agent NAME",
		Short: "Print what a tool or sub-agent can do",
		Args:  usage(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != tools.SubjectTool && args[0] != tools.SubjectAgent {
				return failed(exitUsage, "for example `lcm explain tool lcm_grep`", "%q is neither tool nor agent", args[0])
			}
			r := tools.Expand(ownTools(), nil, args[0], args[1], troubleshoot)
			if r.IsError {
				return failed(exitNotFound, explainHint(args[0]), "%s", strings.TrimPrefix(r.Text, "Error: "))
			}
			return p.result(explanation{SubjectType: args[0], SubjectName: args[1], Text: r.Text}, "%s\n", strings.TrimRight(r.Text, "\n"))
		},
	}
	c.Flags().BoolVar(&troubleshoot, "troubleshoot", false, "include common problems and what to do about them")
	return p.jsonFlag(c)
}

func explainHint(subject string) string {
	if subject == tools.SubjectAgent {
		return "lcm brings no sub-agents along; a program's own are explained by its expand tool"
	}
	return "tools: " + explainable
}

// ownTools are the tools that lcm brings along.
func ownTools() []core.Tool {
	// The tools describe themselves without a record behind them.
	return append(new(lcm.Engine).Session("").Tools(lcm.ProjectScope()), tools.NewDelegateTool(), tools.NewFooTool())
}

// explainable lists the names of those tools. Making the tools would delay every command.
const explainable = "lcm_grep, lcm_describe, lcm_expand_query, expand, delegate, foo"
