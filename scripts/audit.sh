#!/bin/sh
# Looks for known vulnerabilities in what the program links, and checks the
# licences. It fails for vulnerabilities and refused licences, and where the tool
# or the list of vulnerabilities cannot be reached.
set -u
GO=${GO:-go}
here=$(dirname "$0")
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
status=0

# "go run" would hide the exit code: govulncheck exits with 3 when it finds something.
if GOBIN="$tools" $GO install "$GOVULNCHECK"; then
	"$tools"/govulncheck ./...
	found=$?
else
	found="$GOVULNCHECK could not be installed"
fi
case $found in
0) ;;
3) status=1 ;;
*)
	echo "FAILED: vulnerabilities were NOT checked ($found). Run make audit again with the network." >&2
	status=1
	;;
esac

GO="$GO" sh "$here/licences.sh" || status=1
exit $status
