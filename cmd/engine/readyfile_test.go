package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestReadyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ready.json")
	written := addresses{GRPC: "127.0.0.1:1", HTTP: "127.0.0.1:2", PID: os.Getpid()}
	for range 2 { // also over an old one
		if err := writeReadyFile(path, written); err != nil {
			t.Fatal(err)
		}
	}
	var read addresses
	text, _ := os.ReadFile(path)
	if err := json.Unmarshal(text, &read); err != nil || read != written {
		t.Errorf("read back %+v, %v", read, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := removeReadyFile(path); err != nil {
		t.Error(err)
	}
	if err := removeReadyFile(path); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := writeReadyFile(filepath.Join(dir, "no", "ready"), written); err == nil {
		t.Error("written into a directory that is not there")
	}
	// Another daemon's file stays.
	written.PID++
	if err := writeReadyFile(path, written); err != nil {
		t.Fatal(err)
	}
	if err := removeReadyFile(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("another daemon's file is gone: %v", err)
	}
}
