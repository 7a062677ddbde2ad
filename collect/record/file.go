package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile puts a file in place whole or not at all: temporary name, write,
// fsync, rename, fsync of the folder. fill writes the content.
func WriteFile(path string, fill func(io.Writer) error) (err error) {
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp) // best effort: the first error is the one to report
		}
	}()
	if err := errors.Join(fill(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("put %s in place: %w", filepath.Base(path), err)
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder makes the names inside a folder survive a power cut.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
