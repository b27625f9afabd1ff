// Package e2e drives the built lcm with programs that the project did not
// write: MCP's own inspector and conformance suite, and the agents that people
// use. Its tests have the build tag e2e and are run by `make e2e`; they install
// pinned versions from npm into e2e/cache, which git ignores.
package e2e
