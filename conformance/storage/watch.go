package storage

import (
	"context"
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

func watchClauses() []Clause {
	return []Clause{
		{"watch/refused", OfMetadata, "A store that does not declare Watch refuses it with ErrUnsupported at once.", func(p *Probe) {
			if p.Plugin().Info().Watch {
				return
			}
			p.Wants("Watch", p.Metadata().Watch(p.ctx, "", func(string) {}), sdk.ErrUnsupported)
		}},
		{"watch/changes", OfMetadata, "Watch calls changed with each key under prefix that was written or deleted; the last change is never missed.", checkWatch},
		{"watch/context", OfMetadata, "Watch ends with the context's error.", func(p *Probe) {
			if p.Plugin().Info().Watch {
				p.cancelled("Watch", p.Metadata().Watch(ended(), "", func(string) {}))
			}
		}},
	}
}

func checkWatch(p *Probe) {
	if !p.Plugin().Info().Watch {
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	changes := make(chan string, 1000)
	end := make(chan error, 1)
	go func() {
		end <- p.Metadata().Watch(ctx, "seen/", func(key string) { changes <- key })
	}()
	// Watch sees what is written after it was called, so the first key is
	// written until it is seen.
	p.putUntil("seen/first", changes)
	p.put("other", "value", sdk.AnyVersion)
	for i := range 100 {
		p.put(fmt.Sprintf("seen/%d", i%10), "value", sdk.AnyVersion)
	}
	p.Must("Delete", p.Metadata().Delete(p.ctx, "seen/first", sdk.AnyVersion))
	missing := map[string]bool{"seen/first": true}
	for i := range 10 {
		missing[fmt.Sprintf("seen/%d", i)] = true
	}
	for len(missing) > 0 {
		select {
		case key := <-changes:
			if key == "other" {
				p.Errorf("a change of %q is told to a watcher of seen/", key)
			}
			delete(missing, key)
		case <-p.ctx.Done():
			p.Fatalf("changes not told: %v", missing)
		}
	}
	cancel()
	p.cancelled("Watch", <-end)
}

func (p *Probe) putUntil(key string, changes <-chan string) {
	for p.ctx.Err() == nil {
		p.put(key, "value", sdk.AnyVersion)
		select {
		case <-changes:
			// What else was told of this key is of no interest.
			for len(changes) > 0 {
				<-changes
			}
			return
		default:
		}
	}
	p.Fatalf("no change of %q is told", key)
}
