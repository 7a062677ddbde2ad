package artifact

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"

	"assay/ingest/store"
)

// Options say how a source is loaded.
type Options struct {
	IsRun func(dir string) bool // a folder that is a run directory; nil for none
	Log   *slog.Logger          // nil for none

	largeFrom int64 // largeFile when 0; tests set it
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
	r := readers{files: files, known: known, slots: make(chan struct{}, filesAhead), large: make(chan struct{}, 1), largeFrom: cmp.Or(opt.largeFrom, largeFile)}
	streams := r.start(ctx)
	err = w.writeAll(ctx, files, streams, r.slots)
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

// readers read files side by side for one writer.
type readers struct {
	files []found
	known map[knownFile]bool
	// slots has one entry for each file that is ahead of the writer, which takes
	// one out for each file it has written.
	slots chan struct{}
	// large has an entry while a large file is read. It is put in where files
	// are handed out, in order: a reader that waited for it could keep the very
	// file that the writer waits for.
	large     chan struct{}
	largeFrom int64
}

// start starts one reader a processor. Readers wait once they are filesAhead
// files, or two batches of one file, ahead of the writer, so memory does not
// grow with the number of files.
func (r *readers) start(ctx context.Context) []*stream {
	streams := make([]*stream, len(r.files))
	for i := range streams {
		streams[i] = &stream{batches: make(chan Batch, 2)}
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range r.files {
			claim(ctx, r.slots)
			if r.files[i].bytes >= r.largeFrom {
				claim(ctx, r.large)
			}
			next <- i
		}
	}()
	for range min(runtime.GOMAXPROCS(0), 8) {
		go func() {
			for i := range next {
				r.read(ctx, &r.files[i], streams[i])
				if r.files[i].bytes >= r.largeFrom {
					release(ctx, r.large)
				}
			}
		}()
	}
	return streams
}

// claim waits for room in a channel, or for the end of the context: every file
// is still handed out then, so that its reader closes its stream.
func claim(ctx context.Context, room chan<- struct{}) {
	select {
	case room <- struct{}{}:
	case <-ctx.Done():
	}
}

// release gives up what claim took, if it took it.
func release(ctx context.Context, room <-chan struct{}) {
	select {
	case <-room:
	case <-ctx.Done():
	}
}

func (r *readers) read(ctx context.Context, f *found, s *stream) {
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
	data, sum, wrong := f.open()
	switch {
	case wrong != nil:
		_ = send(Batch{Problems: []Problem{*wrong}})
	case r.known[knownFile{sum, f.name}]:
		s.unchanged = true
	default:
		_ = Read(sum, f.name, data, send) // it fails only when the writer has stopped, with the writer's error
	}
}
