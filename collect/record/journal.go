package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// EntryKind is what a journal line reports.
type EntryKind string

// The kinds of journal lines.
const (
	EntryLock         EntryKind = "lock"          // the plan was locked
	EntryStart        EntryKind = "start"         // the collector started or resumed
	EntryDispatch     EntryKind = "dispatch"      // the dispatch clock started
	EntryAttemptStart EntryKind = "attempt_start" // an attempt of a cell started
	EntryAttemptEnd   EntryKind = "attempt_end"   // it ended, Outcome says how
	EntryDrain        EntryKind = "drain"         // the engine was waited for until idle
	EntryStop         EntryKind = "stop"          // a stop rule fired
	EntryBlock        EntryKind = "block"         // a cell will not be run
	EntryRecover      EntryKind = "recover"       // what a killed collector left of an attempt was made readable
	EntryIdentity     EntryKind = "identity"      // what an arm's engine first said about itself, in Facts
	EntrySmoke        EntryKind = "smoke"         // one question of the smoke check, Rule names it, Outcome is pass or fail
	EntryClock        EntryKind = "clock"         // the clocks showed a step or a suspend, Rule says which
	EntryLifecycle    EntryKind = "lifecycle"     // a lifecycle command ended, Rule names it, Outcome says how
	EntryRestoreBegin EntryKind = "restore_begin" // from here on the host has to be restored
	EntryRestoreCheck EntryKind = "restore_check" // one postcondition, Rule names it, Outcome is pass, fail or not_evaluable
	EntryRestoreEnd   EntryKind = "restore_end"   // the restoration was run, Outcome is restored or not_restored
	EntryEnd          EntryKind = "end"           // the collector ended
)

// Entry is one line of the journal: a state change, on disk before the
// collector acts on it.
type Entry struct {
	Kind    EntryKind         `json:"kind"`
	UnixNs  int64             `json:"unix_ns"`
	MonoNs  int64             `json:"mono_ns"` // since the run's clock anchor
	Arm     string            `json:"arm,omitempty"`
	Cell    string            `json:"cell,omitempty"`
	Attempt int               `json:"attempt,omitempty"`
	Rule    string            `json:"rule,omitempty"`    // stop rule, for stop and block
	Outcome string            `json:"outcome,omitempty"` // run state, for attempt_end and end
	Detail  string            `json:"detail,omitempty"`
	Blocks  []string          `json:"blocks,omitempty"` // cells a stop blocks
	Figures map[string]int64  `json:"figures,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
}

// ErrBusy is returned when another process has the journal open for writing.
var ErrBusy = errors.New("another collector writes to this run")

// Journal appends fsynced lines. It may be used by several goroutines.
type Journal struct {
	mu   sync.Mutex
	file *os.File
}

// OpenJournal opens the journal of a run directory for appending. A last line
// that a kill cut short is completed to a line end, so that the next entry
// does not join it. While it is open no other process can open it.
func OpenJournal(dir string) (*Journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, JournalName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := lockJournal(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := endLine(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Journal{file: f}, nil
}

// lockJournal takes the only writer's lock. A reader that looks whether the
// journal is busy holds it for a moment, so it is tried for a while.
func lockJournal(f *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if try == 20 {
			return ErrBusy
		}
		time.Sleep(25 * time.Millisecond)
	}
}

func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// Write appends one entry and waits until it is on disk.
func (j *Journal) Write(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		// Half a line would join the next entry; readers pass it over if it stays.
		return fmt.Errorf("write journal: %w", errors.Join(err, j.file.Truncate(info.Size())))
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	return nil
}

// JournalBusy says whether a collector has the journal of a run open now.
func JournalBusy(dir string) bool {
	f, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return false
	}
	defer f.Close()
	// A shared lock is had whenever no writer has the exclusive one; it goes with
	// the file.
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// BadLine is a journal line that is not one entry.
type BadLine struct {
	Line   int // from 1
	Offset int64
}

// ReadJournal returns the whole entries of a journal and the lines that are
// none: half a line after a kill, or two entries joined. Those are reported,
// never guessed at.
func ReadJournal(dir string) ([]Entry, []BadLine, error) {
	f, err := os.Open(filepath.Join(dir, JournalName))
	if err != nil {
		return nil, nil, fmt.Errorf("open journal: %w", err)
	}
	defer f.Close()
	return decodeJournal(f)
}

func decodeJournal(src io.Reader) ([]Entry, []BadLine, error) {
	var entries []Entry
	var bad []BadLine
	in := bufio.NewReader(src)
	var offset int64
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if len(text) > 0 {
			var e Entry
			// Unmarshal refuses trailing data, so joined objects are bad lines too.
			// A last line without its end may still grow: it is not whole.
			if json.Unmarshal(text, &e) != nil || !bytes.HasSuffix(text, []byte{'\n'}) || e.Kind == "" {
				bad = append(bad, BadLine{Line: line, Offset: offset})
			} else {
				entries = append(entries, e)
			}
			offset += int64(len(text))
		}
		if errors.Is(err, io.EOF) {
			return entries, bad, nil
		}
		if err != nil {
			return entries, bad, fmt.Errorf("read journal: %w", err)
		}
	}
}
