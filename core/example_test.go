package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/core"
)

const weatherText = `# Description
Tells the weather in a city.

# Advanced
The temperature now, in whole degrees. It knows the cities of Switzerland.

# Troubleshooting
- "there is no city": write the name as it is written there, such as Genève
`

type weatherArgs struct {
	City string `json:"city" description:"Name of the city"`
	Unit string `json:"unit" enum:"C,F" default:"C" description:"Unit of the temperature"`
}

// NewWeatherTool returns the tool "weather", with what it needs to answer.
func NewWeatherTool(degrees map[string]int) (*core.FuncTool, error) {
	info, err := core.ParseToolInfo("weather", weatherText)
	if err != nil {
		return nil, err
	}
	return core.NewTool(info, func(_ context.Context, in weatherArgs) (core.Result, error) {
		now, ok := degrees[in.City]
		if !ok {
			return core.Result{}, fmt.Errorf("there is no city %q", in.City)
		}
		if in.Unit == "F" {
			now = now*9/5 + 32
		}
		return core.TextResult(fmt.Sprintf("%d°%s in %s", now, in.Unit, in.City)), nil
	})
}

// A tool with everything a model needs to know about it.
func ExampleParseToolInfo() {
	weather, err := NewWeatherTool(map[string]int{"Basel": 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []map[string]any{
		{"city": "Basel"},
		{"city": "Basel", "unit": "F"},
		{"city": "Atlantis"},
		{"town": "Basel"},
	} {
		fmt.Println(weather.Call(nil, args))
	}
	// Output:
	// 20°C in Basel
	// 68°F in Basel
	// Error: there is no city "Atlantis"
	// Error: bad arguments for tool 'weather':
	// - argument "city" is missing: it is required and must be a string
	// - argument "town" is unknown; the names are city, unit
}

// Clerk is an agent without a model: it counts the words it is given.
type Clerk struct{}

func (Clerk) Name() string               { return "clerk" }
func (Clerk) BasicDescription() string   { return "Counts words." }
func (Clerk) AdvanceDescription() string { return "Words are what is between blanks." }
func (Clerk) Troubleshooting() string    { return "- \"nothing to count\": send a text" }

func (Clerk) ChatStream(message string) core.IResponseChStarter {
	return core.StarterFunc(func(ctx context.Context, emit func(core.Event)) (string, error) {
		words := strings.Fields(message)
		if len(words) == 0 {
			return "", errors.New("nothing to count")
		}
		emit(core.Event{Kind: core.EventText, Text: "counting…"})
		return fmt.Sprintf("%d words", len(words)), ctx.Err()
	})
}

// A sub-agent of one's own.
func ExampleSubAgent() {
	var agent core.SubAgent = Clerk{}
	for event := range agent.ChatStream("how many words are these").Start().Events() {
		fmt.Println(event.Kind, event.Text)
	}
	// Output:
	// text counting…
	// done 5 words
}
