package gemini

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// events are the program's names of events. It has PreCompress too, which comes before each
// request, whether the program compacts or not.
var events = map[string]string{"BeforeAgent": "UserPromptSubmit", "AfterTool": "PostToolUse", "AfterAgent": "Stop"}

// Entries implements [setup.Host]. Everything is in the user's settings.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	file := filepath.Join(dir, "settings.json")
	return []setup.Entry{
		setup.JSONServer(file, o.TrustedServer().Waiting(setup.InMillis), "mcpServers", "lcm"),
		setup.HooksNamed(file, Name, o, "SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
