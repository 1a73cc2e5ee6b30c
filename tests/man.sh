#!/bin/sh
# Whether docs/man holds the pages that script/man writes of the programs that were built, and whether
# those who read such pages (where they are installed) find fault with them.
#
# usage: man.sh SOURCE PROGRAMS
set -eu
source=$1
programs=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/script/man" "$programs" "$work"

status=0
for made in "$work"/*.1; do
    name=$(basename "$made")
    diff -u "$source/docs/man/$name" "$made" || {
        echo "man: docs/man/$name is not what the program says: script/man writes it anew"
        status=1
    }
    # The pages change with the programs, and have no date of their own.
    if command -v mandoc >/dev/null 2>&1; then
        mandoc -T lint -W warning "$made" | grep -v 'missing date' && status=1
    fi
    if command -v groff >/dev/null 2>&1; then
        warnings=$(groff -man -T utf8 -ww -z "$made" 2>&1)
        [ -z "$warnings" ] || {
            echo "$warnings"
            status=1
        }
    fi
done
for page in "$source"/docs/man/*.1; do
    [ -f "$work/$(basename "$page")" ] || {
        echo "man: docs/man/$(basename "$page") is of no program"
        status=1
    }
done
exit $status
