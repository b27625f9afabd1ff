//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// scratch is a directory for the whole run.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lcm-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValues(func() (path string, err error) {
	path = filepath.Join(scratch, "lcm")
	c := exec.Command("go", "build", "-trimpath", "-o", path, "./cmd/lcm")
	c.Dir = ".."
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build lcm: %w\n%s", err, out)
	}
	return path, nil
})

// buildLCM builds the program as it is shipped, once a run, and returns its
// path.
func buildLCM(t testing.TB) string {
	t.Helper()
	began := time.Now()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Logf("built lcm in %.1fs", took.Seconds())
	}
	return path
}

// npmInstall installs the packages of a manifest, once, and returns the directory
// with node_modules. Install scripts are not run, and there is no lock file,
// which would name the registry of whoever wrote it. It needs the network,
// unless npm's cache has everything.
func npmInstall(t testing.TB, manifest string) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	raw, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	dir, err := filepath.Abs(filepath.Join("cache", hex.EncodeToString(sum[:6])))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(newestEnv) != "" && filepath.Dir(manifest) == filepath.Dir(hostsManifest) {
		if dir += "-newest"; os.Getenv(insideEnv) != "" {
			return dir // installed before the network went
		}
		raw = newest(t, raw)
		if now, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil && !bytes.Equal(now, raw) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	done := filepath.Join(dir, "installed")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "install", "--prefer-offline", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
	c.Dir = dir
	began := time.Now()
	t.Logf("npm install of %s into %s", manifest, dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	t.Logf("npm install took %.1fs", time.Since(began).Seconds())
	if err := os.WriteFile(done, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newest replaces the pinned versions of agents by the newest, and tells which these are.
func newest(t testing.TB, manifest []byte) []byte {
	t.Helper()
	var packages map[string]any
	if err := json.Unmarshal(manifest, &packages); err != nil {
		t.Fatal(err)
	}
	pinned, _ := packages["dependencies"].(map[string]any)
	for name, was := range pinned {
		out, err := exec.CommandContext(t.Context(), "npm", "view", name, "version").Output()
		if err != nil {
			t.Fatalf("npm view %s: %v", name, err)
		}
		pinned[name] = strings.TrimSpace(string(out))
		t.Logf("%s: pinned %v, newest %v", name, was, pinned[name])
	}
	raw, err := json.MarshalIndent(packages, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// node returns the Node.js that came with a manifest, else the machine's.
func node(t testing.TB, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		return found[0]
	}
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	return path
}

// run runs a program and returns its output.
func run(t testing.TB, c *exec.Cmd) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}
