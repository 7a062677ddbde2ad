package artifact

import "strconv"

func itoa(n int) string { return strconv.Itoa(n) }

// batchRows is how many rows are handed on together. A row of artifacts takes
// about 1 kB.
const batchRows = 500

// Batch is a group of rows of one file, in file order.
type Batch struct {
	Artifacts []Artifact
	Requests  []Request
	Stats     []Stat
	Problems  []Problem
}

func (b *Batch) rows() int {
	return len(b.Artifacts) + len(b.Requests) + len(b.Stats) + len(b.Problems)
}

// output takes the rows of one file as an importer finds them and hands them
// on in batches, so that a file of many rows is never held whole as rows.
type output struct {
	sum, path string
	bytes     int64
	at        string // where the run being read is in the file, before the names of its figures
	notes     notes
	batch     Batch
	send      func(Batch) error
	err       error // of send; after it nothing is sent
}

func newOutput(sum, path string, bytes int64, send func(Batch) error) *output {
	return &output{sum: sum, path: path, bytes: bytes, notes: notes{source: path}, send: send}
}

// id is the key of the file's n-th run.
func (o *output) id(part int64) string { return identify(o.sum, o.path, part).Artifact }

func (o *output) artifact(a Artifact) {
	a.key, a.Bytes = identify(o.sum, o.path, a.Part), o.bytes
	a.Missing, a.Extra = orWord(a.Missing, "{}"), orWord(a.Extra, "{}")
	o.batch.Artifacts = append(o.batch.Artifacts, a)
	o.flush(batchRows)
}

func (o *output) request(r Request) {
	r.Phase, r.Missing = orWord(r.Phase, "unknown"), orWord(r.Missing, "{}")
	o.batch.Requests = append(o.batch.Requests, r)
	o.flush(batchRows)
}

func (o *output) stat(s Stat) {
	s.SourceKey, s.Metric, s.Stat, s.Unit = orWord(s.SourceKey, "unnamed"), orWord(s.Metric, "unnamed"), orWord(s.Stat, "value"), orWord(s.Unit, "unknown")
	if s.Agreement == AgreeDifferent {
		o.notes.add(CodeStatDiffers, o.at+s.SourceKey, "%s is stated as %s; the rows give %s", s.Stat, number(s.Value), number(s.Recomputed))
	}
	o.batch.Stats = append(o.batch.Stats, s)
	o.flush(batchRows)
}

// end hands on what is left, the problems last.
func (o *output) end() error {
	o.batch.Problems = o.notes.all()
	o.flush(1)
	return o.err
}

func (o *output) flush(least int) {
	if o.batch.rows() < least {
		return
	}
	if o.err == nil {
		o.err = o.send(o.batch)
	}
	o.batch = Batch{}
}

// number writes a figure so that it reads back as the same one.
func number(p *float64) string {
	if p == nil {
		return "null"
	}
	return strconv.FormatFloat(*p, 'g', -1, 64)
}
