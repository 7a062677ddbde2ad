package sample

import (
	"time"

	"assay/collect/record"
)

// Bounds of a reading of the GPUs. The first one starts the driver, which takes
// seconds where it is not kept loaded.
const (
	gpuStartBound = 20 * time.Second
	gpuReadBound  = 3 * time.Second
)

// boundedGPU keeps a driver that does not answer from stopping the sampler. A
// call into the driver can wait for ever and cannot be ended from outside; it is
// left alone in a goroutine of its own. While one is out no other is made, and
// each reading says so in one row. What a late call brings is not used: its
// values are of another moment than its row would say.
type boundedGPU struct {
	open        func() GPU
	start, read time.Duration

	gpu    GPU // nil before the first reading has come back; the call under way owns it
	answer chan bounded
	since  time.Time // when the call under way began; zero when there is none
}

type bounded struct {
	gpu  GPU
	rows []record.GPUSample
}

func newBoundedGPU(open func() GPU, start, read time.Duration) *boundedGPU {
	return &boundedGPU{open: open, start: start, read: read, answer: make(chan bounded, 1)}
}

// Read takes one reading within the bound.
func (b *boundedGPU) Read(anchor record.Anchor) []record.GPUSample {
	if !b.since.IsZero() {
		select {
		case late := <-b.answer:
			b.gpu, b.since = late.gpu, time.Time{}
		default:
			return b.hung(anchor)
		}
	}
	bound := b.read
	if b.gpu == nil {
		bound = b.start
	}
	b.since = time.Now()
	go func(gpu GPU) {
		if gpu == nil {
			gpu = b.open()
		}
		b.answer <- bounded{gpu, gpu.Read(anchor)}
	}(b.gpu)
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case in := <-b.answer:
		b.gpu, b.since = in.gpu, time.Time{}
		return in.rows
	case <-timer.C:
		return b.hung(anchor)
	}
}

// hung is the row that stands for a reading that has not come back.
func (b *boundedGPU) hung(anchor record.Anchor) []record.GPUSample {
	s := record.GPUSample{Status: hungWord + " the driver did not answer in time"}
	s.AtNs, s.AtUnixNs = anchor.Now()
	return []record.GPUSample{s}
}

const hungWord = "hung:"

// Close ends the use of the driver. One that does not answer is not asked to end:
// the call would wait as well.
func (b *boundedGPU) Close() error {
	if !b.since.IsZero() {
		select {
		case late := <-b.answer:
			b.gpu, b.since = late.gpu, time.Time{}
		default:
			return nil
		}
	}
	if b.gpu == nil {
		return nil
	}
	return b.gpu.Close()
}
