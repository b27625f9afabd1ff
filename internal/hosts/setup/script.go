package setup

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// scriptCommand and scriptEngine begin the lines of a script with its commands.
const (
	scriptCommand = "const COMMAND = "
	scriptEngine  = "const ENGINE = "
)

// WithCommand returns a script whose command is another one.
func WithCommand(script string, command []string) string {
	return setLine(script, scriptCommand, command)
}

// engineMark is where a script of a host has the part that speaks with the engine.
const engineMark = "/* engine */\n"

//go:embed engine.js
var engineScript string

// WithEngine returns a script with the part that speaks with `lcm engine`. It stands in every
// adapter, because hosts load one file, or a copy of it.
func WithEngine(script string, o Options) string {
	return strings.Replace(script, engineMark, setLine(engineScript, scriptEngine, o.EngineCommand()), 1)
}

// setLine replaces the value of a line.
func setLine(script, begins string, value []string) string {
	list, err := json.Marshal(value)
	before, after, found := strings.Cut(script, begins)
	_, after, line := strings.Cut(after, "\n")
	if err != nil || !found || !line {
		return script // impossible: the scripts are part of the program
	}
	return before + begins + string(list) + "\n" + after
}

// Script is the entry of a file of lcm's own with a script that starts a command.
func Script(file, what, sign, script string) Entry {
	return OwnFile(file, what, sign, script, func(src []byte) (all [][]string, err error) {
		for line := range strings.Lines(string(src)) {
			var command []string
			begins, rest, _ := strings.Cut(strings.TrimSpace(line), "[")
			if (begins == scriptCommand || begins == scriptEngine) && json.Unmarshal([]byte("["+rest), &command) == nil {
				all = append(all, command)
			}
		}
		return all, nil
	})
}
