package storage

import (
	"fmt"

	"github.com/tidemark-engine/tidemark/sdk"
)

// put writes a key or ends the check.
func (p *Probe) put(key, value string, expected sdk.Version) sdk.Version {
	version, err := p.Metadata().Put(p.ctx, key, []byte(value), expected)
	p.Must(fmt.Sprintf("Put of %q, expecting version %d", key, expected), err)
	return version
}

// wantValue checks what a key holds.
func (p *Probe) wantValue(key, value string, version sdk.Version) {
	got, err := p.Metadata().Get(p.ctx, key)
	p.Must(fmt.Sprintf("Get of %q", key), err)
	if string(got.Value) != value || got.Version != version {
		p.Errorf("%q holds %.40q, version %d; want %.40q, version %d", key, got.Value, got.Version, value, version)
	}
}

func metadataClauses() []Clause {
	return []Clause{
		{"get/not-found", OfMetadata, "Get of a key that is not there is ErrKeyNotFound.", func(p *Probe) {
			_, err := p.Metadata().Get(p.ctx, "nobody")
			p.Wants("Get", err, sdk.ErrKeyNotFound)
		}},
		{"get/sees-put", OfMetadata, "A Get that begins after a Put has returned sees that Put.", func(p *Probe) {
			version := sdk.NoVersion
			for i := range 50 {
				value := fmt.Sprint(i)
				version = p.put("key", value, version)
				p.wantValue("key", value, version)
			}
			p.wantValue("empty", "", p.put("empty", "", sdk.NoVersion))
		}},
		{"put/bytes-are-the-callers-again", OfMetadata, "The store does not keep value after returning; a value that was got belongs to whoever got it.", func(p *Probe) {
			value := []byte("before")
			version, err := p.Metadata().Put(p.ctx, "key", value, sdk.NoVersion)
			p.Must("Put", err)
			copy(value, "after!")
			got, err := p.Metadata().Get(p.ctx, "key")
			p.Must("Get", err)
			copy(got.Value, "after!")
			p.wantValue("key", "before", version)
		}},
		{"put/durable", OfMetadata, "What a write returned as done is durable.", func(p *Probe) {
			if !p.Plugin().Info().Durable {
				return
			}
			kept := p.put("kept", "value", sdk.NoVersion)
			p.Must("Delete", p.Metadata().Delete(p.ctx, "removed", p.put("removed", "value", sdk.NoVersion)))
			p.Reopen()
			p.wantValue("kept", "value", kept)
			_, err := p.Metadata().Get(p.ctx, "removed")
			p.Wants("Get of a deleted key", err, sdk.ErrKeyNotFound)
		}},
		{"metadata-list/prefix", OfMetadata, "List returns the keys that start with prefix and are greater than after, rising by bytes, with values and versions; fewer than limit means that there are no more.", checkList},
		{"metadata-list/limit", OfMetadata, "A limit below 1 is ErrInvalid.", func(p *Probe) {
			_, err := p.Metadata().List(p.ctx, "", "", 0)
			p.Wants("List with limit 0", err, sdk.ErrInvalid)
		}},
		{"metadata/context", OfMetadata, "Every method ends early with the context's error.", func(p *Probe) {
			m := p.Metadata()
			version := p.put("key", "value", sdk.NoVersion)
			_, err := m.Get(ended(), "key")
			p.cancelled("Get", err)
			_, err = m.List(ended(), "", "", 1)
			p.cancelled("List", err)
			_, err = m.Put(ended(), "key", nil, version)
			p.cancelled("Put", err)
			p.cancelled("Delete", m.Delete(ended(), "key", version))
		}},
	}
}

func checkList(p *Probe) {
	keys := []string{"a", "a/", "a/1", "a/10", "a/2", "a/\x00", "a/\xff", "a0", "b", "\xff", "\xff\xff"}
	for _, key := range keys {
		p.put(key, "value of "+key, sdk.NoVersion)
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"a/", "", 100, []string{"a/", "a/\x00", "a/1", "a/10", "a/2", "a/\xff"}},
		{"a/", "", 2, []string{"a/", "a/\x00"}},
		{"a/", "a/1", 2, []string{"a/10", "a/2"}},
		{"a/", "a/15", 100, []string{"a/2", "a/\xff"}},
		{"a/", "a/\xff", 100, nil},
		{"a/", "b", 100, nil},
		{"a/", "Z", 1, []string{"a/"}},
		{"\xff", "", 100, []string{"\xff", "\xff\xff"}},
		{"", "b", 100, []string{"\xff", "\xff\xff"}},
		{"c", "", 100, nil},
	} {
		got, err := p.Metadata().List(p.ctx, c.prefix, c.after, c.limit)
		p.Must("List", err)
		var names []string
		for _, line := range got {
			names = append(names, line.Key)
			p.wantValue(line.Key, string(line.Value), line.Version)
			if string(line.Value) != "value of "+line.Key {
				p.Errorf("List says %q holds %q", line.Key, line.Value)
			}
		}
		if fmt.Sprintf("%q", names) != fmt.Sprintf("%q", c.want) {
			p.Errorf("List(%q, %q, %d) is %q, want %q", c.prefix, c.after, c.limit, names, c.want)
		}
	}
}

func casClauses() []Clause {
	return []Clause{
		{"put/versions-rise", OfMetadata, "Put returns the new version, which is above the former one.", func(p *Probe) {
			version := sdk.NoVersion
			for range 20 {
				next := p.put("key", "value", version)
				if next <= version {
					p.Fatalf("version %d after %d", next, version)
				}
				version = next
			}
		}},
		{"put/conflict", OfMetadata, "Put writes only if the key has the expected version; else it is ErrVersionConflict and nothing was written.", func(p *Probe) {
			_, err := p.Metadata().Put(p.ctx, "key", []byte("wrong"), 7)
			p.Wants("Put of a new key, expecting version 7", err, sdk.ErrVersionConflict)
			old := p.put("key", "one", sdk.NoVersion)
			now := p.put("key", "two", old)
			for _, expected := range []sdk.Version{sdk.NoVersion, old, now + 1} {
				_, err := p.Metadata().Put(p.ctx, "key", []byte("wrong"), expected)
				p.Wants(fmt.Sprintf("Put expecting version %d of %d", expected, now), err, sdk.ErrVersionConflict)
			}
			p.wantValue("key", "two", now)
		}},
		{"put/any-version", OfMetadata, "With AnyVersion Put writes in any case.", func(p *Probe) {
			p.wantValue("key", "one", p.put("key", "one", sdk.AnyVersion))
			p.wantValue("key", "two", p.put("key", "two", sdk.AnyVersion))
		}},
		{"put/one-wins", OfMetadata, "Of writers that expect the same version exactly one succeeds.", checkOneWins},
		{"metadata-delete/conflict", OfMetadata, "Delete removes the key only if it has the expected version; ErrKeyNotFound if it is not there.", func(p *Probe) {
			m := p.Metadata()
			old := p.put("key", "one", sdk.NoVersion)
			now := p.put("key", "two", old)
			p.Wants("Delete with an old version", m.Delete(p.ctx, "key", old), sdk.ErrVersionConflict)
			p.wantValue("key", "two", now)
			p.Must("Delete", m.Delete(p.ctx, "key", now))
			p.Wants("Delete again", m.Delete(p.ctx, "key", now), sdk.ErrKeyNotFound)
			p.Wants("Delete again of any version", m.Delete(p.ctx, "key", sdk.AnyVersion), sdk.ErrKeyNotFound)
			p.put("key", "three", sdk.NoVersion)
			p.Must("Delete of any version", m.Delete(p.ctx, "key", sdk.AnyVersion))
		}},
		{"put/version-never-again", OfMetadata, "A key that was deleted and written again never gets a version that it had before.", func(p *Probe) {
			seen := map[sdk.Version]bool{}
			for i := range 10 {
				for range 3 {
					version := p.put("key", "value", sdk.AnyVersion)
					if seen[version] {
						p.Fatalf("version %d a second time", version)
					}
					seen[version] = true
				}
				p.Must("Delete", p.Metadata().Delete(p.ctx, "key", sdk.AnyVersion))
				if i%3 == 2 && p.Plugin().Info().Durable {
					p.Reopen()
				}
			}
		}},
	}
}

func checkOneWins(p *Probe) {
	const writers, rounds = 8, 30
	version := sdk.NoVersion
	for range rounds {
		type result struct {
			version sdk.Version
			err     error
		}
		results := make(chan result, writers)
		for i := range writers {
			go func() {
				v, err := p.Metadata().Put(p.ctx, "key", []byte{byte(i)}, version)
				results <- result{v, err}
			}()
		}
		winners := 0
		next := version
		for range writers {
			got := <-results
			if got.err == nil {
				winners++
				next = got.version
				continue
			}
			p.Wants("Put that lost", got.err, sdk.ErrVersionConflict)
		}
		if winners != 1 {
			p.Fatalf("%d of %d writers that expect version %d succeed", winners, writers, version)
		}
		version = next
	}
}
