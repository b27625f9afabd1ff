// Package wire reads and writes the JSON of providers and hosts.
package wire
