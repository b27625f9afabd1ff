// Command plugins writes the plugins of hosts for `make dist`:
//
//	go run ./scripts/plugins DIR VERSION HOST…
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

func main() {
	for _, name := range os.Args[3:] {
		if err := write(name, filepath.Join(os.Args[1], name), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(name, dir, version string) error {
	var files map[string]string
	packaged, err := all.Named[setup.PackageHost](name)
	if err == nil {
		files, err = packaged.Package(version)
	} else if h, missing := all.Named[setup.PluginHost](name); missing == nil {
		files, err = h.Plugin(version, new(lcm.Engine).Session("").Guidance(lcm.WithProjectScope()))
	}
	for file, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(file))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			mode := fs.FileMode(0o644)
			if filepath.Ext(path) == ".sh" {
				mode = 0o755
			}
			err = os.WriteFile(path, []byte(content), mode)
		}
	}
	return err
}
