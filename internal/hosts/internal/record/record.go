// Package record writes the fixtures of the host packages: its test, with the
// build tag record, drives the real programs against a scripted model and keeps
// what they wrote down, without the names of the machine it ran on. Run it with
// scripts/record-fixtures.sh.
package record
