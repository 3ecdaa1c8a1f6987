package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far a long command is; elsewhere nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress shows bytes out of total, or only their number if total is -1.
func newProgress(out io.Writer, total int64) *progress {
	if !isTerminal(out) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetDescription("sending"),
		progressbar.OptionClearOnFinish(),
	)}
}

func (p *progress) add(n int) {
	if p.bar != nil {
		p.bar.Add(n)
	}
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
