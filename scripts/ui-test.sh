#!/bin/sh
# Drives the pages of `lcm ui` in Chromium. It installs Chromium (apt) and axe-core
# (npm) where they are missing, and says so if it cannot.
#
# The tests run on the bundled session and on a generated one, which is kept.
#
#   SHOTS=DIR      also writes a screenshot of every page there
#   UI_MESSAGES=N  messages of the generated session (100000)
#   RUN=REGEXP     only these tests
set -eu
GO="${GO:-go}"
dir="${TMPDIR:-/tmp}/lcm-ui-test"
mkdir -p "$dir"

CHROMIUM="${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}"
if [ -z "$CHROMIUM" ]; then
	echo "ui-test: installing chromium with apt-get"
	if ! apt-get install -y --no-install-recommends chromium >"$dir/apt.log" 2>&1; then
		echo "ui-test: chromium could not be installed, see $dir/apt.log; install it and set CHROMIUM to its path" >&2
		exit 1
	fi
	CHROMIUM=$(command -v chromium)
fi

AXE="${AXE:-$dir/node_modules/axe-core/axe.min.js}"
if [ ! -f "$AXE" ]; then
	echo "ui-test: installing axe-core with npm"
	if ! npm install --no-save --no-audit --no-fund --prefix "$dir" axe-core@4.14.0 >"$dir/npm.log" 2>&1; then
		echo "ui-test: axe-core could not be installed, see $dir/npm.log; set AXE to a file axe.min.js" >&2
		exit 1
	fi
fi

"$GO" build -o "$dir/lcm" ./cmd/lcm

UI_MESSAGES="${UI_MESSAGES:-100000}"
UI_RECORD="${UI_RECORD:-$dir/record-$UI_MESSAGES/ui.db}"
if [ ! -f "$UI_RECORD.complete" ]; then
	echo "ui-test: generating a session of $UI_MESSAGES messages, a minute for each 100,000"
	mkdir -p "$(dirname "$UI_RECORD")"
	"$GO" run ./bench ui --messages "$UI_MESSAGES" --runs 1 --dir "$(dirname "$UI_RECORD")" >"$dir/bench.log"
	touch "$UI_RECORD.complete"
fi

export LCM_BIN="$dir/lcm" CHROMIUM AXE UI_RECORD
cd internal/ui/browsertest
exec "$GO" test -count=1 -v -timeout 90m -run "${RUN:-.}" .
