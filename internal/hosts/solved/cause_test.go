package solved

import "testing"

// TestCauses has an output for each form of a cause, and others that have none.
func TestCauses(t *testing.T) {
	for output, want := range map[string]string{
		"Exit code 1\nunknown flag: --stat\n\nUsage:  gh pr diff [flags]":                             "unknown flag: --stat",
		"fatal: unrecognized argument: --no-stat":                                                     "fatal: unrecognized argument: --no-stat",
		"cat: illegal option -- A\nusage: cat [-belnstuv] [file ...]":                                 "cat: illegal option -- A",
		"error: unexpected argument '--foo' found":                                                    "unexpected argument --foo found",
		"flag provided but not defined: -e":                                                           "flag provided but not defined: -e",
		"error: the following required arguments were not provided:":                                  "the following required arguments were not provided:", //                                 "",
		"x: error: the following arguments are required: name":                                        "x: error: the following arguments are required: name",
		"accepts at most 1 arg(s), received 3":                                                        "accepts at most " + gap + " arg(s), received " + gap,
		"usage: git diff [<options>] [<commit>]":                                                      "usage: git diff [<options>] [<commit>]",
		"bash: line 1: rg: command not found":                                                         "bash: line " + gap + ": rg: command not found",
		"sh: 1: pyhton: not found":                                                                    "sh: " + gap + ": pyhton: not found",
		"Error: spawn chromium ENOENT":                                                                "spawn chromium ENOENT",
		"ModuleNotFoundError: No module named 'yaml'":                                                 "ModuleNotFoundError: No module named yaml",
		"go: updates to go.mod needed; to update it:\n\tgo mod tidy":                                  "go: updates to go.mod needed; to update it:",
		"mkdir: cannot create directory '/opt/x': Permission denied":                                  "mkdir: cannot create directory " + gap + ": Permission denied",
		"Error: listen EADDRINUSE: address already in use :::3000\n    at Server.listen (net.js:1:2)": "listen EADDRINUSE: address already in use :::" + gap,
		"curl: (7) Failed to connect to localhost port 80: Connection refused":                        "curl: (" + gap + ") Failed to connect to localhost port " + gap + ": Connection refused",
		"(eval):1: parse error near `time'":                                                           "(eval):" + gap + ": parse error near time",
		"jq: error: syntax error, unexpected //":                                                      "jq: error: syntax error, unexpected " + gap,
		"gh: Not Found (HTTP 404)":                                                                    "gh: Not Found (HTTP " + gap + ")",
		"fatal: not a git repository (or any of the parent directories): .git":                        "fatal: not a git repository (or any of the parent directories): .git",

		"--- FAIL: TestX (0.00s)\n    x_test.go:3: permission denied":      "",
		"cmd/x.go:12:3: undefined: option; unknown flag: --x":              "",
		"main.go:4: invalid argument: index 5 out of bounds":               "",
		"3 failed, 2 passed\nPermission denied":                            "",
		"[lint] $ golangci-lint run\nx.go:1:1: missing cases (exhaustive)": "",
		"ls: /nowhere: No such file or directory":                          "",
		"CONFLICT (content): Merge conflict in x.go":                       "",
		"": "",
	} {
		if got := causeOf(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}
