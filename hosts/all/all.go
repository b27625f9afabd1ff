// Package all lists the hosts that lcm knows.
package all

import (
	"github.com/lossless-context/lcm/hosts"
	"github.com/lossless-context/lcm/hosts/claude"
	"github.com/lossless-context/lcm/hosts/codex"
	"github.com/lossless-context/lcm/hosts/opencode"
)

// Hosts returns every host, in the order in which they are shown.
func Hosts() []hosts.Host {
	return []hosts.Host{claude.Host{}, codex.Host{}, opencode.Host{}}
}
