#!/bin/sh
# Usage: generated.sh GENERATE-COMMAND
# Generates all code beside the tree and compares: fails if a generated file is
# missing, differs, or has no source any more.
set -eu
fresh=bin/generated
rm -rf "$fresh"
mkdir -p "$fresh"
$1 -o "$fresh"
listing() { (cd "$1" && find . -name '*.pb.go' -o -name '*.pb.gw.go' | grep -v '^\./bin/' | sort); }
stale=0
for file in $( (listing .; listing "$fresh") | sort -u); do
	cmp -s "$file" "$fresh/$file" || { echo "not up to date: $file"; stale=1; }
done
[ "$stale" = 0 ] || { echo "run make generate and commit the result"; exit 1; }
