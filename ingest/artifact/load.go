package artifact

import (
	"context"
	"log/slog"
	"runtime"
	"sync"

	"assay/ingest/store"
)

// Options say how a source is loaded.
type Options struct {
	IsRun func(dir string) bool // a folder that is a run directory; nil for none
	Log   *slog.Logger          // nil for none
}

// Summary counts what one call of Load did.
type Summary struct {
	Files     int // files found
	Unchanged int // of these, loaded before just as they are
	Loaded    int // of these, read by an importer
	Named     int // of these, known by kind only
	Refused   int // of these, not used; each has a problem
	Runs      int // runs in the loaded files
	Requests  int64
	Stats     int64
	Problems  int
}

// Add adds up what two calls did.
func (s *Summary) Add(o Summary) {
	s.Files += o.Files
	s.Unchanged += o.Unchanged
	s.Loaded += o.Loaded
	s.Named += o.Named
	s.Refused += o.Refused
	s.Runs += o.Runs
	s.Requests += o.Requests
	s.Stats += o.Stats
	s.Problems += o.Problems
}

// Load brings a file, or every file below a folder, into the database. Files
// are read side by side and written in order of name, so the result does not
// hang on which was quicker. What is wrong with a file becomes rows of
// problems; an error means that the source does not exist or that the database
// failed.
func Load(ctx context.Context, db *store.DB, source string, opt Options) (Summary, error) {
	if opt.IsRun == nil {
		opt.IsRun = func(string) bool { return false }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	files, err := scan(source, opt.IsRun)
	if err != nil {
		return Summary{}, err
	}
	known, err := knownFiles(ctx, db)
	if err != nil {
		return Summary{}, err
	}
	w := writer{db: db, log: opt.Log}
	ctx, cancel := context.WithCancel(ctx)
	slots := make(chan struct{}, filesAhead)
	streams := readAll(ctx, files, known, slots)
	err = w.writeAll(ctx, files, streams, slots)
	cancel() // the readers give up what nobody takes any more
	for _, s := range streams {
		for range s.batches {
		}
	}
	return w.summary, err
}

// knownFile is what a file is known by.
type knownFile struct{ sum, path string }

func knownFiles(ctx context.Context, db *store.DB) (map[knownFile]bool, error) {
	rows, err := db.Query(ctx, "read artifacts", "SELECT DISTINCT sha256, path FROM artifacts")
	all, err := store.Collect(rows, err, func(k *knownFile) []any { return []any{&k.sum, &k.path} })
	known := map[knownFile]bool{}
	for _, k := range all {
		known[k] = true
	}
	return known, err
}

// stream is one file's rows on their way to the writer.
type stream struct {
	batches chan Batch
	// unchanged is set before the first batch, or before batches is closed.
	unchanged bool
}

// largeFile is the size, in bytes, from which files are read one at a time.
const largeFile = 16 << 20

// filesAhead is how many files the readers may be ahead of the writer.
const filesAhead = 32

// readAll starts one reader a processor. Readers wait once they are filesAhead
// files, or two batches of one file, ahead of the writer, so memory does not
// grow with the number of files. The writer takes a slot back for each file.
func readAll(ctx context.Context, files []found, known map[knownFile]bool, slots chan<- struct{}) []*stream {
	streams := make([]*stream, len(files))
	for i := range streams {
		streams[i] = &stream{batches: make(chan Batch, 2)}
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range files {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done(): // the readers still close every stream
			}
			next <- i
		}
	}()
	var large sync.Mutex
	for range min(runtime.GOMAXPROCS(0), 8) {
		go func() {
			for i := range next {
				readOne(ctx, &files[i], streams[i], known, &large)
			}
		}()
	}
	return streams
}

func readOne(ctx context.Context, f *found, s *stream, known map[knownFile]bool, large *sync.Mutex) {
	defer close(s.batches)
	send := func(b Batch) error {
		select {
		case s.batches <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return
	}
	if f.problem != nil {
		_ = send(Batch{Problems: []Problem{*f.problem}})
		return
	}
	if f.bytes >= largeFile {
		large.Lock()
		defer large.Unlock()
	}
	data, sum, wrong := f.open()
	switch {
	case wrong != nil:
		_ = send(Batch{Problems: []Problem{*wrong}})
	case known[knownFile{sum, f.name}]:
		s.unchanged = true
	default:
		_ = Read(sum, f.name, data, send) // it fails only when the writer has stopped, with the writer's error
	}
}
