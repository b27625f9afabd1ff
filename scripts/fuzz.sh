#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, those that match FUZZ if it
# is set, FUZZJOBS of them at a time, and lists what each did. It fails if one
# finds something, or runs nothing beyond its corpus: a target that does not run
# proves nothing.
set -eu
GO=${GO:-go}
FUZZTIME=${FUZZTIME:-30s}
FUZZJOBS=${FUZZJOBS:-1}
# Go tries for a minute to shorten each input that finds new code, and executes
# nothing else meanwhile: with a database under the target, whose coverage is
# never twice the same, that is all it would do.
MINIMIZE=${MINIMIZE:-2s}

# one runs a target and leaves a line for the table.
one() {
	pkg=$1 target=$2 log=$3
	echo "fuzz $pkg $target for $FUZZTIME"
	verdict=ok
	# Targets that run beside each other share the cores.
	workers=
	if [ "$FUZZJOBS" -gt 1 ]; then workers=-parallel=1; fi
	if ! $GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime "$MINIMIZE" $workers "$pkg" >"$log.log" 2>&1; then
		# On a busy machine the go command may fail because its own time was
		# up: that is no finding, which has an input.
		if grep -q 'context deadline exceeded' "$log.log" && ! grep -q 'Failing input' "$log.log"; then
			verdict=cut
		else
			verdict=FOUND
			cat "$log.log"
		fi
	fi
	execs=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log.log" | tail -n 1)
	if [ "${execs:-0}" -eq 0 ] && [ $verdict != FOUND ]; then
		verdict=STALLED
	fi
	printf '%-8s %12s  %s %s\n' "$verdict" "${execs:-0}" "$pkg" "$target" >"$log.row"
}

if [ $# -gt 0 ]; then
	one "$@"
	exit
fi

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
n=0
for pkg in $($GO list ./...); do
	dir=$($GO list -f '{{.Dir}}' "$pkg")
	targets=$(cat "$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' | sort)
	for target in $targets; do
		case "$target" in *${FUZZ:-}*) ;; *) continue ;; esac
		n=$((n + 1))
		echo "$pkg $target $logs/$(printf '%03d' $n)"
	done
done >"$logs/targets"
export GO FUZZTIME FUZZJOBS MINIMIZE
# A run that dies leaves no line, which the count below notices.
xargs -L 1 -P "$FUZZJOBS" sh "$0" <"$logs/targets" || true

printf '\n%-8s %12s  %s\n' verdict executions target
cat "$logs"/*.row
if [ "$(cat "$logs"/*.row | wc -l)" -ne "$(wc -l <"$logs/targets")" ]; then
	echo "some targets did not run" >&2
	exit 1
fi
! grep -q -e '^FOUND' -e '^STALLED' "$logs"/*.row
