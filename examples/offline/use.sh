#!/bin/sh
# Where the product runs: what the shipped file says, with no cache of this machine's own:
#   use.sh FILE KERNEL SIZE=VALUE GPU
# A program asks the same of libregtune_db, with REGTUNE_CACHE_PATH=FILE (examples/library/lookup.c).
set -e
"${REGTUNE:-regtune}" lookup "$2" --set "$3" --gpu "$4" --cache "$1"
