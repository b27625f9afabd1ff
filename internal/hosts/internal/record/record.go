// Package record writes the fixtures of the host packages. Its test, with the build
// tag record, runs the real programs against a scripted model and stores their
// transcripts without the names of the machine. Run it with
// scripts/record-fixtures.sh.
package record
