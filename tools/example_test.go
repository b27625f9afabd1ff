package tools_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

func ExampleNewExpandTool() {
	dice := core.MustTool(core.ToolInfo{
		Name:        "dice",
		Description: "Rolls a die.",
		Advanced:    "The die has six sides. It takes no arguments.",
	}, func(context.Context, struct{}) (core.Result, error) { return core.TextResult("4"), nil })

	agentContext := map[string]any{
		"tools": []llms.Tool{dice},
	}
	fmt.Println(tools.NewExpandTool().Call(agentContext, map[string]any{
		"subject_type": "tool",
		"subject_name": "dice",
	}))
	// Output:
	// === TOOL: dice ===
	//
	// 📄 Basic Description:
	// Rolls a die.
	//
	// 📚 Advanced Description:
	// The die has six sides. It takes no arguments.
}

func ExampleWithHooks() {
	readOnly := tools.Hook{Before: func(_ context.Context, tool string, args map[string]any) (map[string]any, error) {
		if args["echo"] == "rm -rf" {
			return nil, fmt.Errorf("%s may not say that", tool)
		}
		return args, nil
	}}
	foo := tools.WithHooks(tools.NewFooTool(), readOnly)
	fmt.Println(foo.Call(core.AgentContext{}, map[string]any{"echo": "hello"}))
	fmt.Println(foo.Call(core.AgentContext{}, map[string]any{"echo": "rm -rf"}))
	// Output:
	// hello
	// Error: foo may not say that
}
