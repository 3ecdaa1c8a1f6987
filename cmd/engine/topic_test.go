package main

import "testing"

func TestTopicCreateAgain(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo", "retention-time=7d")
	b.must("", "topic", "create", "demo", "retention-time=7d")
	b.must("", "topic", "set", "demo", "max-ledger-age=1h")
	const there = "topic demo is there already, with settings of its own\n"
	for _, same := range [][]string{{}, {"retention-time=7d"}, {"retention-time=168h"}, {"max-ledger-age=60m", "retention-time=7d"}, {"read-policy="}} {
		b.run("", append([]string{"topic", "create", "demo"}, same...)...).want(t, exitSuccess, there)
	}
	for _, other := range [][]string{{"retention-time=8d"}, {"retention-time=7d", "placement=inline"}, {"retention-time="}} {
		b.run("", append([]string{"topic", "create", "demo"}, other...)...).
			want(t, exitFailure, "it has max-ledger-age=1h retention-time=7d, asked for was", "engine topic set")
	}
	b.run("", "topic", "create", "demo", "retention-time=").want(t, exitFailure, "asked for was none")
	b.run("", "topic", "create", "demo", "retention-time=long").want(t, exitUsage, "long")
}

func TestTopicDelete(t *testing.T) {
	b := newBench(t, nil)
	b.must("", "topic", "create", "demo")
	b.run("", "topic", "delete", "dmeo").want(t, exitNotFound, "topic dmeo is not there", "engine topic list")
	same(t, "if it exists", b.must("", "topic", "delete", "dmeo", "--if-exists"), "topic dmeo was not there\n")
	b.run("", "topic", "delete", "../x", "--if-exists").want(t, exitUsage, "..")
	same(t, "delete", b.must("", "topic", "delete", "demo"), "topic demo is gone\n")
	b.run("", "topic", "delete", "demo").want(t, exitNotFound, "topic demo is not there")
}
