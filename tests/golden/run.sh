#!/bin/sh
# Golden screens of the workbench; ends with a line that counts them.
# "make golden-update" shows what differs and keeps the screens as they are now.
cd "$(dirname "$0")/../.." || exit 2
exec "${WARPLOOP_BIN:-build/bin}/../test/golden/golden" tests/golden
