package campaign

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"assay/collect/engine"
	"assay/collect/record"
)

// Bounds of what is kept of an engine's log.
const (
	maxLogLine = 64 << 10 // a longer line is no line of the start
	maxLogKept = 1 << 20
)

// engineLog follows the file an engine writes its log to. The file is the
// engine's: it may grow, be cut short, or not be there.
type engineLog struct {
	path   string
	offset int64
	boot   []byte // lines of the engine's starts
}

// read takes in what was written since the last read. It returns the matched
// lines that are not of a start.
func (l *engineLog) read() (lines []byte, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < l.offset { // another log, or the same begun again
		l.offset, l.boot = 0, nil
	}
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, maxLogLine)
	long := false // inside a line that is too long
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF): // a line that is not whole yet is read again
			return lines, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.offset += int64(len(line))
			long = true
			continue
		case err != nil:
			return lines, err
		}
		l.offset += int64(len(line))
		if long {
			long = false
			continue
		}
		if kept, boot, ok := engine.MatchLog(line); ok && boot && len(l.boot)+len(kept) <= maxLogKept {
			l.boot = append(l.boot, kept...)
		} else if ok && !boot && len(lines)+len(kept) <= maxLogKept {
			lines = append(lines, kept...)
		}
	}
}

// fingerprint asks, before a cell, what tells one engine from another and what it
// can hold: paths that only some engines have, the command line of its container,
// and the start lines of its log.
func (a *attempt) fingerprint(ctx context.Context) {
	for _, path := range engine.FingerprintPaths {
		add(a.out, record.Answers, a.monitor.client.Ask(ctx, a.anchor, phaseBefore, path))
	}
	if a.arm.container != nil {
		row := record.Answer{Phase: phaseBefore, Path: engine.SourceArgv, Error: "not_visible"}
		if state, err := a.arm.container.inspect(); err == nil {
			row.Error, row.Body = "", engine.KeepArgv(state.Args)
		}
		row.AtNs, row.AtUnixNs = a.anchor.Now()
		add(a.out, record.Answers, row)
	}
	a.readLog(phaseBefore)
}

// readLog stores the lines of the engine's log: before a cell those of its start,
// after it those written since.
func (a *attempt) readLog(phase string) {
	if a.arm.log == nil {
		return
	}
	row := record.Answer{Phase: phase, Path: engine.SourceLog}
	lines, err := a.arm.log.read()
	row.Body = lines
	if phase == phaseBefore {
		row.Body = a.arm.log.boot
	}
	if err != nil { // the error's own text holds a path of the host
		row.Error = "unreadable"
		a.monitor.problem("engine_log_unreadable", "engine log", "the file named by --engine-log cannot be read")
	}
	row.AtNs, row.AtUnixNs = a.anchor.Now()
	add(a.out, record.Answers, row)
}
