package tools

import (
	"context"
	_ "embed"

	"github.com/lossless-context/lcm/core"
)

//go:embed foo.md
var fooText string

type fooArgs struct {
	Echo string `json:"echo" description:"The text to echo back"`
}

// NewFooTool returns the tool "foo", which returns its argument. It is for
// trying out how tools are called.
func NewFooTool() *core.FuncTool {
	return core.MustTool(core.MustToolInfo("foo", fooText),
		func(_ context.Context, in fooArgs) (core.Result, error) {
			return core.TextResult(in.Echo), nil
		})
}
