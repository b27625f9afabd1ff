// Package all lists the hosts that lcm knows. Help, completion, setup, doctor, `lcm run`
// and the MCP server read this list.
package all

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/hosts/cline"
	"github.com/lossless-context/lcm/internal/hosts/codex"
	"github.com/lossless-context/lcm/internal/hosts/copilot"
	"github.com/lossless-context/lcm/internal/hosts/droid"
	"github.com/lossless-context/lcm/internal/hosts/gemini"
	"github.com/lossless-context/lcm/internal/hosts/kilo"
	"github.com/lossless-context/lcm/internal/hosts/openclaw"
	"github.com/lossless-context/lcm/internal/hosts/opencode"
	"github.com/lossless-context/lcm/internal/hosts/pi"
	"github.com/lossless-context/lcm/internal/hosts/qwen"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Hosts returns every host, in the order in which they are shown.
func Hosts() []hosts.Host {
	return []hosts.Host{
		claude.Host{},
		codex.Host{},
		opencode.New(),
		kilo.New(),
		qwen.New(),
		copilot.New(),
		droid.New(),
		gemini.New(),
		pi.New(),
		openclaw.Host{},
		cline.New(),
	}
}

// Those returns the hosts that are a T, such as [setup.Host].
func Those[T hosts.Host]() (those []T) {
	for _, h := range Hosts() {
		if t, ok := h.(T); ok {
			those = append(those, t)
		}
	}
	return those
}

// Names returns the names of the hosts that are a T.
func Names[T hosts.Host]() (names []string) {
	for _, h := range Those[T]() {
		names = append(names, h.About().Name)
	}
	return names
}

// Named returns the host with a name that is a T.
func Named[T hosts.Host](name string) (t T, err error) {
	for _, h := range Those[T]() {
		if h.About().Name == name {
			return h, nil
		}
	}
	return t, &hint.Error{Err: fmt.Errorf("no host is called %q", name), Hint: "hosts: " + strings.Join(Names[T](), ", ")}
}

// Titles returns the titles of all hosts as words of a sentence: "A, B and C".
func Titles() string {
	var titles []string
	for _, h := range Hosts() {
		titles = append(titles, h.About().Title)
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], ", ") + " and " + titles[last]
}
