// Package kilo has everything that lcm knows of the Kilo Code CLI: it is made from opencode,
// and differs in names only.
package kilo

import "github.com/lossless-context/lcm/internal/hosts/opencode"

// New returns the Kilo Code CLI. It also reads settings files called opencode, and they go
// before its own.
func New() opencode.Host {
	return opencode.Host{Name: "kilo", Title: "Kilo Code", Files: []string{"kilo", "opencode"}, Dirs: []string{".kilocode", ".kilo"}}
}
