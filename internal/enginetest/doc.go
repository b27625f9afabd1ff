// Package enginetest tests the engine through its public API, on the real backends: that
// nothing is lost, what forgetting takes away, which project a caller sees, what a
// seal proves. Tests that need a part of package lcm which is not public, and all
// Examples, are beside that package.
package enginetest
