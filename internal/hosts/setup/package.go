package setup

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// PackageHost is a host whose adapter can also be installed as an npm package.
type PackageHost interface {
	Host
	// Package returns the files of the package.
	Package(version string) (map[string]string, error)
}

// platforms are those of the packages with the program, as npm names them.
var platforms = []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"}

//go:embed package.js
var packaged string

// PackageName is the name of the npm package of a host.
func PackageName(host string) string { return "@lossless-context/" + host }

// PackageFiles returns the files of a host's npm package: the script that setup writes, with the program of the
// package for the platform. more are members of package.json, files further files.
func PackageFiles(h Host, version, script string, more map[string]any, files map[string]string) (map[string]string, error) {
	about := h.About()
	programs := map[string]string{}
	for _, platform := range platforms {
		programs[PackageName("lcm-"+platform)] = version
	}
	_, code, _ := strings.Cut(script, "\n") // the first line is about setup
	out := map[string]string{"index.js": "// lcm for " + about.Title + ", as the npm package " + PackageName(about.Name) + ".\n" + code}
	if !strings.Contains(code, "createRequire") {
		out["index.js"] += packaged
	}
	maps.Copy(out, files)
	members := map[string]any{
		"name": PackageName(about.Name), "version": version, "description": PluginAbout + ", for " + about.Title, "license": "Apache-2.0",
		"type": "module", "main": "index.js", "files": slices.Sorted(maps.Keys(out)), "optionalDependencies": programs,
	}
	maps.Copy(members, more)
	manifest, err := json.MarshalIndent(members, "", "  ")
	out["package.json"] = string(manifest) + "\n"
	return out, err
}
