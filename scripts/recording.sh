#!/bin/sh
# Makes docs/images/recording.svg again from a run of lcm, and prints what the terminal showed.
#
#   LCM=FILE  the program to record (built from this clone)
set -eu
cd "$(dirname "$0")/.."
GO="${GO:-go}"
if [ -z "${LCM:-}" ]; then
	make build >&2
	LCM=bin/lcm
fi
"$GO" run scripts/recording.go "$LCM" docs/images/recording.svg
