#!/bin/sh
# Usage: fuzz.sh TIME
# Runs every fuzz test of the module for TIME, one after the other.
set -eu
for package in $(go list ./...); do
	for name in $(go test "$package" -list '^Fuzz' | grep '^Fuzz' || true); do
		echo "== $package $name"
		go test "$package" -run '^$' -fuzz "^$name\$" -fuzztime "$1"
	done
done
