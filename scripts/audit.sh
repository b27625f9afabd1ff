#!/bin/sh
# Looks for known vulnerabilities in what the program links, and checks the
# licences. Where the tool or the vulnerability database cannot be reached, it
# says so and goes on. It exits with 1 for vulnerabilities and refused licences
# only.
set -u
GO=${GO:-go}
here=$(dirname "$0")
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
status=0
skipped=

# "go run" would hide the exit code: govulncheck exits with 3 when it finds something.
if GOBIN="$tools" $GO install "$GOVULNCHECK"; then
	"$tools"/govulncheck ./...
	case $? in
	0) ;;
	3) status=1 ;;
	*) skipped='govulncheck could not do its work; see what it says above' ;;
	esac
else
	skipped="$GOVULNCHECK could not be installed"
fi

GO="$GO" sh "$here/licences.sh" || status=1
if [ -n "$skipped" ]; then
	echo "WARNING: vulnerabilities were NOT checked: $skipped. Run make audit again where https://vuln.go.dev can be reached." >&2
fi
exit $status
