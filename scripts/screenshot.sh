#!/bin/sh
# Makes docs/images/ui-session.png again: the bundled session in `lcm ui`, in Chromium.
set -eu
cd "$(dirname "$0")/.."
SCREENSHOT="$PWD/docs/images/ui-session.png" RUN='^TestScreenshot$' UI_MESSAGES=1000 TZ=UTC exec sh scripts/ui-test.sh
