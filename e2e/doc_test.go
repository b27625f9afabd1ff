// Package e2e drives the built lcm with programs that the project did not
// write: MCP's own inspector and conformance suite, and the agents that people
// use. Its tests have the build tag e2e and are run by `make e2e`; they install
// pinned versions from npm into e2e/cache, which git ignores. The agents run
// without network, against a scripted model on loopback.
//
// TestQuestions is the main test. Sessions of Claude Code, Codex and opencode
// in two projects make a history: some are said in the real programs, the
// others are written in their formats. Then each question of
// testdata/questions is asked in a new session, and the scripted model calls
// lcm's tools with no argument but the required ones. The test prints how many
// results hold the answer, how much of each result is content, and the tokens
// of lcm's tools in a request. All results are kept in
// e2e/cache/questions.txt, and a request of each host beside it.
//
// The tests in run_*_test.go run the agents twice, without lcm and with `lcm run`,
// against an API that refuses the requests that the real ones refuse (strict_api_test.go).
// TestRunLong has turns that do not fit the model's window, TestRunScenes does what users
// do in the middle of one, TestRunKilled kills lcm again and again, and TestRunSecrets
// looks for credentials. Where a host has a command only on its screen, a scene drives
// the server behind that screen (codex app-server, opencode serve). LCM_E2E_LONG=1
// (`make e2e LONG=1`) adds the runs that take minutes; LCM_E2E_DUMP names a directory
// that keeps each request.
//
// dist_test.go has the tag dist: `make dist-test` installs what `make dist` made.
package e2e
