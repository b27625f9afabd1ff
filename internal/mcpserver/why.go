package mcpserver

import (
	"context"
	_ "embed"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/recall/why"
)

//go:embed why.md
var whyText string

type whyArgs struct {
	File string `json:"file" minLength:"1" description:"Path"`
	Line int    `json:"line,omitempty" minimum:"1" description:"Without it: the prompts that changed the file"`
}

// newWhyTool returns the tool for lines of files. It reads the project's files, so that only
// servers on the user's machine offer it.
func newWhyTool() core.Tool {
	info := core.MustToolInfo(toolname.Why, whyText)
	info.Behavior.ReadOnly = true
	return core.MustTool(info, func(context.Context, whyArgs) (core.Result, error) { return core.Result{}, nil })
}

// why answers lcm_why.
func (c *call) why(ctx context.Context) (answer, error) {
	var r whyArgs
	if err := c.read(&r); err != nil {
		return answer{}, err
	}
	dir := c.localDir(c.from(ctx))
	if dir == "" {
		return answer{}, c.said(refusal("the host did not say in which directory it works"))
	}
	a, err := why.Ask(ctx, c.config.Engine.Store(), dir, r.File, r.Line)
	if err != nil {
		return answer{}, c.said(err)
	}
	return answer{text: a.ForModel()}, nil
}
