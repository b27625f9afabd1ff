package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/tools"
)

type explanation struct {
	SubjectType string `json:"subjectType"`
	SubjectName string `json:"subjectName"`
	Text        string `json:"text"`
}

// newExplain is the tool expand on the command line.
func newExplain(a *app) *cobra.Command {
	troubleshoot := false
	c := &cobra.Command{
		Use:   "explain tool|agent NAME",
		Short: "Print what a tool or sub-agent can do",
		Long: `Print the full description of a tool or sub-agent, as an agent reads it through
the tool expand. Names are exact.

Tools: ` + strings.Join(explainable(), ", "),
		Example: "lcm explain tool expand\nlcm explain tool lcm_grep --troubleshoot",
		Args:    usage(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			r := tools.Expand(ownTools(), nil, args[0], args[1], troubleshoot)
			if r.IsError {
				return failed(exitNotFound, "tools: "+strings.Join(explainable(), ", "), "%s", strings.TrimPrefix(r.Text, "Error: "))
			}
			if a.json {
				return a.printJSON(explanation{SubjectType: args[0], SubjectName: args[1], Text: r.Text})
			}
			fmt.Fprintln(a.out, strings.TrimRight(r.Text, "\n"))
			return nil
		},
	}
	c.Flags().BoolVar(&troubleshoot, "troubleshoot", false, "include common problems and what to do about them")
	a.jsonFlag(c)
	return c
}

// ownTools are the tools that lcm brings along.
func ownTools() []core.Tool {
	return []core.Tool{tools.NewExpandTool(), tools.NewDelegateTool(), tools.NewFooTool()}
}

// explainable lists the names of those tools.
func explainable() []string {
	var names []string
	for _, t := range ownTools() {
		names = append(names, t.GetName())
	}
	return names
}
