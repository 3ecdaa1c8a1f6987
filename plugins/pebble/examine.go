package pebble

import (
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark-engine/tidemark/sdk"
)

// examine looks at what Pebble would take on trust. Pebble takes a record of
// its manifest that it cannot read for the end, forgets the tables named behind
// it and removes their files; and of its newest log it tells damage from a torn
// end only in part. What is in the way of nothing but a torn end is left to it.
func examine(d *directory) error {
	if d.state != stateReady {
		return nil
	}
	found, err := pebble.Peek(d.path, d.fs)
	if err != nil {
		return openFailure(err)
	}
	if !found.Exists {
		return openFailure(pebble.ErrDBDoesNotExist)
	}
	if err := examineFile(d, found.ManifestFilename, manifestDamage); err != nil {
		return err
	}
	return examineNewestLog(d)
}

// examineNewestLog looks at the log that may have a torn end. Pebble expects the
// older ones to be whole.
func examineNewestLog(d *directory) error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return openFailure(err)
	}
	newest := uint64(0)
	for _, name := range names {
		if digits, isLog := strings.CutSuffix(name, ".log"); isLog {
			if number, err := strconv.ParseUint(digits, 10, 64); err == nil {
				newest = max(newest, number)
			}
		}
	}
	if newest == 0 {
		return nil
	}
	return examineFile(d, d.file(fmt.Sprintf("%06d.log", newest)), func(content []byte) (int, bool) {
		return logDamage(content, uint32(newest))
	})
}

func examineFile(d *directory, name string, damage func([]byte) (at int, damaged bool)) error {
	f, err := d.fs.Open(name)
	if err != nil {
		return openFailure(err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return openFailure(err)
	}
	if at, damaged := damage(content); damaged {
		return fmt.Errorf("%w: %s is damaged at byte %d; nothing was changed: put back a copy of the directory, or start in another one", sdk.ErrCorrupt, path.Base(name), at)
	}
	return nil
}
