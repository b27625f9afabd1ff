#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME, those that match FUZZ if it
# is set, and lists what each did. It fails if one finds something, or runs
# nothing beyond its corpus: a target that does not run proves nothing.
set -eu
GO=${GO:-go}
FUZZTIME=${FUZZTIME:-30s}
# Go tries for a minute to shorten each input that finds new code, and executes
# nothing else meanwhile: with a database under the target, whose coverage is
# never twice the same, that is all it would do.
MINIMIZE=${MINIMIZE:-2s}
log=$(mktemp)
table=$(mktemp)
trap 'rm -f "$log" "$table"' EXIT
status=0
for pkg in $($GO list ./...); do
	dir=$($GO list -f '{{.Dir}}' "$pkg")
	targets=$(cat "$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' | sort)
	for target in $targets; do
		case "$target" in *${FUZZ:-}*) ;; *) continue ;; esac
		echo "fuzz $pkg $target for $FUZZTIME"
		verdict=ok
		if ! $GO test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime "$MINIMIZE" "$pkg" >"$log" 2>&1; then
			# On a busy machine the go command may fail because its own time was
			# up: that is no finding, which has an input.
			if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
				verdict=cut
			else
				verdict=FOUND
				status=1
				cat "$log"
			fi
		fi
		execs=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
		if [ "${execs:-0}" -eq 0 ]; then
			verdict=STALLED
			status=1
		fi
		printf '%-8s %12s  %s %s\n' "$verdict" "${execs:-0}" "$pkg" "$target" >>"$table"
	done
done
printf '\n%-8s %12s  %s\n' verdict executions target
cat "$table"
exit $status
