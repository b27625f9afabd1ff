package core

import (
	"context"
	"encoding/json"
	"fmt"
)

// ToolInfo is the name of a tool and its descriptions.
type ToolInfo struct {
	Name            string   // of the tool, which the model calls
	Description     string   // one line: the basic description
	Advanced        string   // AdvanceDescription
	Troubleshooting string   // what may go wrong, and what to do then
	Behavior        Behavior // what its calls do
}

// FuncTool is a tool made from a Go function by [NewTool]. It is
// [Discoverable] and [Declaring].
type FuncTool struct {
	info   ToolInfo
	schema *Schema
	run    func(ctx context.Context, args map[string]any) (Result, error)
}

// NewTool makes a tool from a function whose argument is a struct; see
// [SchemaFor] for how fields become parameters. Arguments are corrected
// ([Schema.Coerce]) and checked before fn runs. A bad call returns an
// [*ArgumentError].
func NewTool[In any](info ToolInfo, fn func(ctx context.Context, in In) (Result, error)) (*FuncTool, error) {
	if err := checkToolName(info.Name); err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("tool %q has no function", info.Name)
	}
	schema, err := SchemaFor[In]()
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", info.Name, err)
	}
	run := func(ctx context.Context, args map[string]any) (Result, error) {
		var in In
		if err := decodeArguments(info.Name, schema, args, &in); err != nil {
			return Result{}, err
		}
		return fn(ctx, in)
	}
	return &FuncTool{info: info, schema: schema, run: run}, nil
}

// MustTool is NewTool for tools whose name and argument type are constants of the
// program. Like regexp.MustCompile, it panics on an error.
func MustTool[In any](info ToolInfo, fn func(ctx context.Context, in In) (Result, error)) *FuncTool {
	t, err := NewTool(info, fn)
	if err != nil {
		panic("core.MustTool: " + err.Error())
	}
	return t
}

func decodeArguments(tool string, schema *Schema, args map[string]any, in any) error {
	applied, problems := schema.Apply(schema.Coerce(args))
	if len(problems) > 0 {
		return &ArgumentError{Tool: tool, Problems: problems}
	}
	raw, err := json.Marshal(applied)
	if err != nil {
		return &ArgumentError{Tool: tool, Problems: []string{err.Error()}}
	}
	if err := json.Unmarshal(raw, in); err != nil {
		// The schema cannot say everything the type does: a time's layout,
		// an integer's width.
		return &ArgumentError{Tool: tool, Problems: []string{err.Error()}}
	}
	return nil
}

// GetName implements [Tool].
func (t *FuncTool) GetName() string { return t.info.Name }

// Parameters implements [Tool].
func (t *FuncTool) Parameters() json.RawMessage { return t.schema.JSON() }

// BasicDescription implements [Discoverable].
func (t *FuncTool) BasicDescription() string { return t.info.Description }

// AdvanceDescription implements [Discoverable].
func (t *FuncTool) AdvanceDescription() string { return t.info.Advanced }

// Troubleshooting implements [Discoverable].
func (t *FuncTool) Troubleshooting() string { return t.info.Troubleshooting }

// Behavior implements [Declaring].
func (t *FuncTool) Behavior() Behavior { return t.info.Behavior }

// Run implements [Tool].
func (t *FuncTool) Run(ctx context.Context, args map[string]any) (Result, error) {
	return t.run(ctx, args)
}

// Call implements [Tool].
func (t *FuncTool) Call(ac AgentContext, args map[string]any) string { return CallText(t, ac, args) }
