#!/bin/sh
# Says whether the tests on PostgreSQL can run here: with a server at LCM_TEST_POSTGRES,
# or with the binaries of one, which the tests start themselves.
set -eu
found=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1 || true)
[ -n "$found" ] || found=$(command -v postgres || true)
if [ -n "${LCM_TEST_POSTGRES:-}" ]; then
	echo "PostgreSQL: tested with the server at LCM_TEST_POSTGRES"
elif [ -n "$found" ]; then
	echo "PostgreSQL: tested with $found"
else
	echo "PostgreSQL: SKIPPED. The tests on PostgreSQL did not run, because no PostgreSQL is installed"
	echo "and LCM_TEST_POSTGRES is not set. On Debian: apt-get install postgresql-15"
	[ -z "${LCM_REQUIRE_POSTGRES:-}" ] || exit 1
fi
