#!/bin/sh
# Builds lcm at the commit BASE, in a worktree that is removed at the end, and from the
# working tree, and compares what people and agents wait for. Arguments go to the benchmark.
set -eu
: "${BASE:?name a commit: make bench-compare BASE=COMMIT}" "${GO:=go}"
dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/base" 2>/dev/null || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
git worktree add --quiet --detach "$dir/base" "$BASE"
(cd "$dir/base" && $GO build -buildvcs=false -trimpath -o "$dir/lcm-base" ./cmd/lcm)
$GO build -buildvcs=false -trimpath -o "$dir/lcm-this" ./cmd/lcm
$GO run ./bench compare --base "$dir/lcm-base" --binary "$dir/lcm-this" "$@"
