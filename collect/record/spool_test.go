package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func ptr[T any](v T) *T { return &v }

// sampleEvents returns rows with every kind of value: negative, null, empty
// and nil bytes, bytes that are not UTF-8.
func sampleEvents(request int64, n int) []Event {
	rows := make([]Event, n)
	for i := range rows {
		rows[i] = Event{
			Request: request, Seq: int64(i), ReadSeq: int64(i / 2), ReadNs: int64(i) * 1_000_003,
			ReadUnixNs: 1792234551522595123 + int64(i), ReadBytes: -1, Name: "",
			Payload: []byte(fmt.Sprintf("payload %d \xff\x00", i)),
		}
		if i%2 == 0 {
			rows[i].KernelUnixNs = ptr(rows[i].ReadUnixNs - 4711)
		}
		if i%5 == 0 {
			rows[i].Payload = []byte{}
		}
		if i%7 == 0 {
			rows[i].Payload = nil
		}
	}
	return rows
}

// writeSpool writes a spool of four frames and returns its path and rows.
func writeSpool(t *testing.T) (string, [][]Event) {
	t.Helper()
	path := filepath.Join(t.TempDir(), SpoolName)
	s, err := CreateSpool(path)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]Event
	for i := range 4 {
		rows := sampleEvents(int64(i), 3+i)
		want = append(want, rows)
		if err := Append(s, Events, rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Sync(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return path, want
}

func readEvents(t *testing.T, path string) ([][]Event, []Damage) {
	t.Helper()
	var got [][]Event
	damage, err := ReadSpool(path, func(f Frame) error {
		if f.kind != Events.frame {
			return nil
		}
		rows, err := decodeRows(Events, f.payload)
		got = append(got, rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, damage
}

func TestSpoolReturnsWhatWasAppended(t *testing.T) {
	path, want := writeSpool(t)
	got, damage := readEvents(t, path)
	if diff := cmp.Diff(want, got); diff != "" || len(damage) != 0 {
		t.Errorf("damage %v, diff:\n%s", damage, diff)
	}
}

func TestSpoolCutAnywhereKeepsEveryWholeFrame(t *testing.T) {
	path, want := writeSpool(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	for n := range len(whole) {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, damage := readEvents(t, cut)
		if diff := cmp.Diff(want[:len(got)], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("cut at %d:\n%s", n, diff)
		}
		var lost int64
		for _, d := range damage {
			lost += d.Bytes
			if d.Reason != "cut" {
				t.Errorf("cut at %d reported as %q", n, d.Reason)
			}
		}
		if kept := framesSize(t, cut); kept+lost != int64(n) {
			t.Fatalf("cut at %d: %d bytes in frames and %d reported lost", n, kept, lost)
		}
	}
}

func framesSize(t *testing.T, path string) int64 {
	t.Helper()
	var size int64
	if _, err := ReadSpool(path, func(f Frame) error {
		size += int64(frameHeader + len(f.payload))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return size
}

func TestSpoolFlippedBitIsNoticedAndReadingGoesOn(t *testing.T) {
	path, want := writeSpool(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := filepath.Join(t.TempDir(), "flipped")
	for bit := 0; bit < len(whole)*8; bit += 7 { // every byte, all eight positions in turn
		data := bytes.Clone(whole)
		data[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(flipped, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, damage := readEvents(t, flipped)
		if len(damage) == 0 {
			t.Fatalf("bit %d: no damage reported", bit)
		}
		if len(got) < len(want)-1 {
			t.Fatalf("bit %d: %d of %d frames left", bit, len(got), len(want))
		}
		for _, rows := range got {
			if diff := cmp.Diff(want[rows[0].Request], rows); diff != "" {
				t.Fatalf("bit %d: silently changed:\n%s", bit, diff)
			}
		}
	}
}

func TestSpoolReadsNoFrameFromZerosOrNoise(t *testing.T) {
	noise := make([]byte, 64<<10)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, data := range map[string][]byte{"zeros": make([]byte, 64<<10), "noise": noise} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if size := framesSize(t, path); size != 0 {
			t.Errorf("%s: %d bytes read as frames", name, size)
		}
	}
}

// failingFile writes only so many bytes, then fails, as a full disk does.
type failingFile struct {
	*os.File
	room      int
	failTrunc bool
}

var errFull = errors.New("no space left")

func (f *failingFile) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.File.Write(p[:f.room])
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return f.File.Write(p)
}

func (f *failingFile) Truncate(size int64) error {
	if f.failTrunc {
		return errFull
	}
	return f.File.Truncate(size)
}

func TestSpoolShortWriteIsTruncatedAwayBeforeTheNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), SpoolName)
	s, err := CreateSpool(path)
	if err != nil {
		t.Fatal(err)
	}
	full := &failingFile{File: s.file.(*os.File), room: 40}
	s.file = full
	if err := Append(s, Events, sampleEvents(0, 9)); !errors.Is(err, errFull) {
		t.Fatalf("want the disk's error, got %v", err)
	}
	full.room = 1 << 20
	if err := Append(s, Events, sampleEvents(0, 2)); err != nil {
		t.Fatal(err)
	}
	got, damage := readEvents(t, path)
	if len(damage) != 0 || len(got) != 1 || len(got[0]) != 2 {
		t.Errorf("damage %v, frames %d", damage, len(got))
	}
}

func TestSpoolRefusesToGoOnWhenTheShortWriteStays(t *testing.T) {
	s, err := CreateSpool(filepath.Join(t.TempDir(), SpoolName))
	if err != nil {
		t.Fatal(err)
	}
	s.file = &failingFile{File: s.file.(*os.File), room: 40, failTrunc: true}
	if err := Append(s, Events, sampleEvents(0, 9)); !errors.Is(err, errFull) {
		t.Fatalf("want the disk's error, got %v", err)
	}
	if err := Append(s, Events, sampleEvents(0, 1)); !errors.Is(err, ErrSpoolBroken) {
		t.Errorf("want ErrSpoolBroken, got %v", err)
	}
}

func TestDecodeRowsRefusesForgedInput(t *testing.T) {
	good := encodeRows(Events, sampleEvents(0, 3))
	for n := range len(good) {
		if _, err := decodeRows(Events, good[:n]); err == nil {
			t.Fatalf("%d of %d bytes accepted", n, len(good))
		}
	}
	if _, err := decodeRows(Events, append(bytes.Clone(good), 0)); err == nil {
		t.Error("trailing byte accepted")
	}
}
