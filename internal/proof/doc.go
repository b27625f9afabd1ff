// Package proof is a folder: what the tests of other packages use. storetest is
// the contract of a backend, scopetest of a scope, archtest of the module itself;
// backendtest runs tests on every backend, faulttest breaks what lies below them,
// sample is the bundled session.
package proof
