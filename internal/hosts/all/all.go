// Package all lists the hosts that lcm knows.
package all

import (
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/hosts/codex"
	"github.com/lossless-context/lcm/internal/hosts/opencode"
)

// Hosts returns every host, in the order in which they are shown.
func Hosts() []hosts.Host {
	return []hosts.Host{claude.Host{}, codex.Host{}, opencode.Host{}}
}
