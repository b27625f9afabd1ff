package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/core"
)

type addArgs struct {
	A int `json:"a" description:"The first number"`
	B int `json:"b" description:"The second number"`
}

func adder(t testing.TB) *core.FuncTool {
	t.Helper()
	tool, err := core.NewTool(core.ToolInfo{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, in addArgs) (core.Result, error) {
			if in.A > 1000 {
				return core.Result{}, errors.New("too large for my fingers")
			}
			return core.TextResult(fmt.Sprint(in.A + in.B)), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func TestCallReturnsWhatTheModelReads(t *testing.T) {
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"result", map[string]any{"a": 1, "b": 2}, "3"},
		{"a number with a point", map[string]any{"a": 1.0, "b": json.Number("2.0")}, "3"},
		{"the tool's own error", map[string]any{"a": 1001, "b": 2}, "Error: too large for my fingers"},
		{"one problem", map[string]any{"a": 1}, `Error: bad arguments for tool 'add': argument "b" is missing: it is required and must be an integer`},
		{"every problem", map[string]any{"b": "two", "c": 3}, "Error: bad arguments for tool 'add':\n" +
			"- argument \"a\" is missing: it is required and must be an integer\n" +
			"- argument \"b\" must be an integer, got \"two\"\n" +
			"- argument \"c\" is unknown; the names are a, b"},
		{"no arguments at all", nil, "Error: bad arguments for tool 'add':\n" +
			"- argument \"a\" is missing: it is required and must be an integer\n" +
			"- argument \"b\" is missing: it is required and must be an integer"},
		{"too wide for the type", map[string]any{"a": json.Number("99999999999999999999"), "b": 1},
			"Error: bad arguments for tool 'add': json: cannot unmarshal number 99999999999999999999 into Go struct field addArgs.a of type int"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, adder(t).Call(nil, test.args)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunReturnsATypedArgumentError(t *testing.T) {
	_, err := adder(t).Run(t.Context(), map[string]any{"a": 1})
	var bad *core.ArgumentError
	if !errors.As(err, &bad) || bad.Tool != "add" || len(bad.Problems) != 1 {
		t.Errorf("got %#v", err)
	}
}

func TestNewToolRefusesWhatAModelCannotCall(t *testing.T) {
	run := func(context.Context, addArgs) (core.Result, error) { return core.Result{}, nil }
	for _, name := range []string{"", "two words", "ümlaut", strings.Repeat("x", 65)} {
		if _, err := core.NewTool(core.ToolInfo{Name: name}, run); err == nil {
			t.Errorf("name %q is accepted", name)
		}
	}
	if _, err := core.NewTool[addArgs](core.ToolInfo{Name: "x"}, nil); err == nil {
		t.Error("a tool without a function is accepted")
	}
	if _, err := core.NewTool(core.ToolInfo{Name: "x"}, func(context.Context, int) (core.Result, error) {
		return core.Result{}, nil
	}); err == nil {
		t.Error("arguments that are no struct are accepted")
	}
}

func TestMustToolPanicsOnAWrongProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	core.MustTool(core.ToolInfo{Name: "two words"}, func(context.Context, addArgs) (core.Result, error) {
		return core.Result{}, nil
	})
}

type brokenTool struct{ *core.FuncTool }

func (brokenTool) Parameters() json.RawMessage { return json.RawMessage(`{"type":"array"}`) }

func TestCheckTool(t *testing.T) {
	if err := core.CheckTool(adder(t)); err != nil {
		t.Errorf("a good tool: %v", err)
	}
	if err := core.CheckTool(brokenTool{adder(t)}); err == nil || !strings.Contains(err.Error(), `tool "add": parameters`) {
		t.Errorf("a broken schema: %v", err)
	}
	if err := core.CheckTool(nil); err == nil {
		t.Error("nil is accepted")
	}
}

// wrapper decorates a tool without explaining itself.
type wrapper struct{ inner core.Tool }

func (w wrapper) GetName() string             { return w.inner.GetName() }
func (w wrapper) Parameters() json.RawMessage { return w.inner.Parameters() }
func (w wrapper) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(w, ac, args)
}
func (w wrapper) Run(ctx context.Context, args map[string]any) (core.Result, error) {
	return w.inner.Run(ctx, args)
}
func (w wrapper) Unwrap() core.Tool { return w.inner }

func TestDecoratorsAreLookedThrough(t *testing.T) {
	if got := core.BasicDescription(wrapper{wrapper{adder(t)}}); got != "Adds two numbers." {
		t.Errorf("wrapped twice: %q", got)
	}
	if _, ok := core.AsDiscoverable(wrapper{}); ok {
		t.Error("a wrapper around nothing is Discoverable")
	}
	if got := core.BasicDescription("no tool"); got != "" {
		t.Errorf("a string describes itself: %q", got)
	}
}

func ExampleNewTool() {
	type args struct {
		City string `json:"city" description:"Name of the city"`
		Unit string `json:"unit" enum:"C,F" default:"C"`
	}
	weather, err := core.NewTool(
		core.ToolInfo{Name: "weather", Description: "Tells the weather in a city."},
		func(_ context.Context, in args) (core.Result, error) {
			return core.TextResult("21°" + in.Unit + " in " + in.City), nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(weather.Call(nil, map[string]any{"city": "Basel"}))
	fmt.Println(weather.Call(nil, map[string]any{"city": "Basel", "unit": "K"}))
	// Output:
	// 21°C in Basel
	// Error: bad arguments for tool 'weather': argument "unit" must be one of "C", "F", got "K"
}

func TestAFailureBeginsWithError(t *testing.T) {
	tests := []struct{ result, want string }{
		{"disk full", "Error: disk full"},
		{"Error: disk full", "Error: disk full"},
		{"", "Error: "},
	}
	for _, test := range tests {
		failing := core.MustTool(core.ToolInfo{Name: "f"}, func(context.Context, struct{}) (core.Result, error) {
			return core.Result{Text: test.result, IsError: true}, nil
		})
		if got := failing.Call(nil, nil); got != test.want {
			t.Errorf("%q reads as %q", test.result, got)
		}
	}
	if got := core.TextResult("fine").ModelText(); got != "fine" {
		t.Errorf("got %q", got)
	}
}

func TestNilToolsAreNoTools(t *testing.T) {
	var typed *core.FuncTool
	for _, tool := range []core.Tool{nil, typed} {
		if err := core.CheckTool(tool); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%T: %v", tool, err)
		}
	}
	ac := core.AgentContext{core.KeyTools: []core.Tool{nil, typed}, core.KeySubAgents: []core.SubAgent{nil}}
	if got := len(ac.Tools()) + len(ac.SubAgents()); got != 0 {
		t.Errorf("%d of them are found", got)
	}
	if _, ok := core.AsDiscoverable(typed); ok {
		t.Error("a nil tool explains itself")
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "system-reasoning", "größer", "研究者", "two words", "👩‍🔬"} {
		if err := core.CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "a\n[TOOLS]", "a\r", "a\x00", "a\u0085b", "a\u2028b", "a\u2029b", "\x1b[31m"} {
		if core.CheckName(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
