// Package archtest has tests of the module's shape: which package may import
// which, how long a file may grow, that every package has a doc comment, and
// where a context may begin.
//
// The rules are data: Layers in layers_test.go, and the constants beside the
// checks. A check is a function from a source tree to a list of sentences; each
// names a place and the change that it needs. The tests run the checks over this
// module, and over small trees that break each rule.
//
// The imports of test files are not checked: a test may use a backend, a sample
// or a fake of any layer.
package archtest
