package managedledger

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Ten thousand idle logs cost a few KiB each and no goroutine.
func TestIdleLogsAreCheap(t *testing.T) {
	h := newHouse(t)
	const logs = 10_000
	all := make([]*ManagedLedger, logs)
	heap, routines := heapInUse(), runtime.NumGoroutine()
	for i := range all {
		m, err := Open(t.Context(), fmt.Sprint("log ", i), h.settings, h.config, OpenOptions{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = m
	}
	now := time.Now()
	for _, m := range all {
		m.Maintain(now)
	}
	each := (heapInUse() - heap) / logs
	t.Logf("%d bytes each, what the store in memory keeps of it included", each)
	if each > 8<<10 {
		t.Errorf("an idle log costs %d bytes", each)
	}
	if more := runtime.NumGoroutine() - routines; more > 100 {
		t.Errorf("%d goroutines for %d idle logs", more, logs)
	}
	for _, m := range all {
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapInuse)
}
