package simengine

import (
	"testing"
	"testing/synctest"
	"time"

	"assay/collect/record"
)

// TestSimulatedGPUFollowsItsLoad holds the counter to the power between readings:
// an hour idle is 70 Wh, a second with two requests 310 J.
func TestSimulatedGPUFollowsItsLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := 0
		g := &GPU{count: 2, load: func() int { return running }}
		read := func() record.GPUSample {
			rows := g.Read(record.NewAnchor())
			if len(rows) != 2 || rows[0].UUID == rows[1].UUID || *rows[0].EnergyMillijoules != *rows[1].EnergyMillijoules || rows[0].Status != "ok" {
				t.Fatalf("%+v", rows)
			}
			if s := rows[0]; *s.MemoryUsedBytes+*s.MemoryFreeBytes+*s.MemoryReservedBytes != *s.MemoryTotalBytes {
				t.Errorf("the memory does not add up: %+v", s)
			}
			return rows[0]
		}
		idle := read()
		time.Sleep(time.Hour)
		running = 2
		busy := read()
		time.Sleep(time.Second)
		running = 0
		after := read()
		if *idle.UtilizationPercent != 0 || *busy.UtilizationPercent == 0 || *idle.ThrottleReasons != 1 || *busy.ThrottleReasons != 0 {
			t.Errorf("idle %+v, busy %+v", idle, busy)
		}
		for got, want := range map[int64]int64{
			*busy.EnergyMillijoules - *idle.EnergyMillijoules:  70_000 * 3600,
			*after.EnergyMillijoules - *busy.EnergyMillijoules: 310_000,
		} {
			if got != want {
				t.Errorf("energy %d mJ, want %d", got, want)
			}
		}
	})
}

func TestSimulatedGPUSeesTheRequestsOfItsEngines(t *testing.T) {
	profile, _ := LookupProfile("glm53-baseline")
	engine, err := New(Config{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	g := NewGPU(1, engine)
	idle := *g.Read(record.NewAnchor())[0].PowerMilliwatts // of an engine that is not served yet
	engine.process = newProcess(t.Context(), engine.cfg)
	engine.current().sched.running[&job{}] = true
	if busy := *g.Read(record.NewAnchor())[0].PowerMilliwatts; busy <= idle {
		t.Errorf("%d mW with a request, %d without", busy, idle)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
