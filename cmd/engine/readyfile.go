package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// addresses are those that the daemon serves at.
type addresses struct {
	GRPC string `json:"grpc"`
	HTTP string `json:"http,omitempty"`
	PID  int    `json:"pid"`
}

// writeReadyFile writes the addresses so that whoever sees the file sees all of
// it.
func writeReadyFile(path string, a addresses) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("ready file: %w", err)
	}
	_, errWrite := f.Write(append(text, '\n'))
	errMode := f.Chmod(0o644)
	for _, err := range []error{errWrite, errMode, f.Close()} {
		if err != nil {
			os.Remove(f.Name())
			return fmt.Errorf("ready file: %w", err)
		}
	}
	if err := os.Rename(f.Name(), path); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("ready file: %w", err)
	}
	return nil
}

// removeReadyFile removes the file, unless another daemon wrote its own there
// by now.
func removeReadyFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	var a addresses
	if json.Unmarshal(text, &a) == nil && a.PID != os.Getpid() {
		return nil
	}
	return os.Remove(path)
}
