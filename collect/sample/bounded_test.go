package sample

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/collect/record"
)

// scriptedGPU answers each reading after the next of its delays.
type scriptedGPU struct {
	delays []time.Duration
	reads  atomic.Int64
	closed bool
}

func (g *scriptedGPU) Read(record.Anchor) []record.GPUSample {
	n := g.reads.Add(1)
	time.Sleep(g.delays[n-1])
	return []record.GPUSample{{Status: statusOK, GPUIndex: &n}}
}

func (g *scriptedGPU) Close() error {
	g.closed = true
	return nil
}

func TestADriverThatHangsStopsNothingAndIsNotAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := &scriptedGPU{delays: []time.Duration{0, 10 * time.Second, 0}}
		g := newBoundedGPU(func() GPU { return driver }, 20*time.Second, 3*time.Second)
		want := []struct {
			status string
			took   time.Duration
			reads  int64
		}{
			{"ok", 0, 1},
			{"hung: the driver did not answer in time", 3 * time.Second, 2},
			{"hung: the driver did not answer in time", 0, 2},
			{"hung: the driver did not answer in time", 0, 2},
			{"hung: the driver did not answer in time", 0, 2},
			{"ok", 0, 3}, // the late answer is not used
		}
		for i, w := range want {
			start := time.Now()
			rows := g.Read(record.NewAnchor())
			if len(rows) != 1 || rows[0].Status != w.status || time.Since(start) != w.took || driver.reads.Load() != w.reads {
				t.Errorf("reading %d: %+v after %s, %d calls; want %+v", i, rows, time.Since(start), driver.reads.Load(), w)
			}
			if rows[0].Status == statusOK && *rows[0].GPUIndex == 2 {
				t.Error("a late reading stands as one of now")
			}
			if !Hung(rows[0].Status) != (rows[0].Status == statusOK) || rows[0].Status != statusOK && rows[0].AtUnixNs == 0 {
				t.Errorf("reading %d is not recognised or has no time: %+v", i, rows[0])
			}
			if i > 0 {
				time.Sleep(2 * time.Second)
			}
		}
		if err := g.Close(); err != nil || !driver.closed {
			t.Errorf("closed %v: %v", driver.closed, err)
		}
	})
}

func TestADriverThatHangsAtItsStartIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int64
		g := newBoundedGPU(func() GPU { starts.Add(1); time.Sleep(time.Hour); return &noGPU{reason: "late"} }, 20*time.Second, 3*time.Second)
		for i := range 3 {
			if rows := g.Read(record.NewAnchor()); len(rows) != 1 || !Hung(rows[0].Status) || starts.Load() != 1 {
				t.Errorf("reading %d: %+v, %d starts", i, rows, starts.Load())
			}
		}
		start := time.Now()
		if err := g.Close(); err != nil || time.Since(start) != 0 {
			t.Errorf("closing a driver that hangs: %v after %s", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}
