package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ListTools starts an MCP server, without its background work, and lists its tools.
func ListTools(ctx context.Context, command []string) (names []string, err error) {
	if len(command) == 0 {
		return nil, errors.New("there is no command to start it with")
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), "LCM_CHILD=1")
	client := mcp.NewClient(&mcp.Implementation{Name: "lcm-doctor", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list its tools: %w", err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names, nil
}
