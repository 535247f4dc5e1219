#!/bin/sh
# Where it was tuned: all answers of the cache as one read-only file, to go with the product: ship.sh FILE
set -e
"${REGTUNE:-regtune}" export --format sqlite -o "$1"
chmod 444 "$1"
"${REGTUNE:-regtune}" db verify "$1"
