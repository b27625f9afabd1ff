//go:build e2e

package e2e

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const hostsManifest = "testdata/hosts/package.json"

// Environment variables of the process in the network namespace.
const (
	insideEnv   = "LCM_E2E_INSIDE"
	lcmEnv      = "LCM_E2E_LCM"    // a built lcm, in place of building it
	programsEnv = "LCM_E2E_HOSTS"  // a directory with node_modules, in place of installing them
	newestEnv   = "LCM_E2E_NEWEST" // the newest versions of the agents, in place of the pinned ones
)

// withoutNetwork runs the calling test a second time, in a process that has no
// network but loopback, where the machine allows that, and reports whether
// this is that process. What needs the network is done before: lcm is built
// and the agents are installed. The second process runs the calling test only
// and writes its progress to standard output as it goes.
func withoutNetwork(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the agents' programs are looked for as they are named on Linux")
	}
	if os.Getenv(insideEnv) != "" {
		return true
	}
	lcm, programs := os.Getenv(lcmEnv), os.Getenv(programsEnv)
	if lcm == "" {
		lcm = buildLCM(t)
	}
	if programs == "" {
		programs = npmInstall(t, hostsManifest)
	}
	args := []string{os.Args[0], "-test.run=" + only(t.Name(), flag.Lookup("test.run").Value.String()), "-test.v", "-test.timeout=60m"}
	if flags, ok := namespace(); ok {
		args = append(append(flags, "sh", "-c", `ip link set lo up && exec "$0" "$@"`), args...)
	} else {
		t.Log("this machine gives no network namespace: the agents run with the network they have")
	}
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env = append(os.Environ(), insideEnv+"=1", lcmEnv+"="+lcm, programsEnv+"="+programs)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		t.Errorf("without network: %v", err)
	}
	return false
}

// only is the -run pattern for one test, with the pattern of its subtests that
// the whole run was given.
func only(test, given string) string {
	pattern := "^" + regexp.QuoteMeta(test) + "$"
	if _, sub, ok := strings.Cut(given, "/"); ok {
		pattern += "/" + sub
	}
	return pattern
}

// namespace returns how to start a program without a network.
func namespace() (flags []string, ok bool) {
	for _, flags := range [][]string{{"unshare", "-n"}, {"unshare", "-r", "-n"}} {
		if exec.Command(flags[0], append(flags[1:], "ip", "link", "set", "lo", "up")...).Run() == nil {
			return flags, true
		}
	}
	return nil, false
}
