package plan

import (
	"errors"
	"strings"
	"testing"
)

func TestWriteMatrixPrintsEveryCellAndTheTotals(t *testing.T) {
	p := mustDecode(t, exampleJSON(t))
	var b strings.Builder
	if err := WriteMatrix(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cells {
		if !strings.Contains(b.String(), " "+c.ID+" ") {
			t.Errorf("no row for %s", c.ID)
		}
	}
	for _, want := range []string{
		"48 cells (6 warm-up), 534 requests (528 measured, 6 warm-up)",
		"outer timeouts add up to 66,000 s; the request cutoff is 16,200 s after dispatch, the deadline 21,600 s",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

type brokenWriter struct{ room int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestWriteMatrixReportsAWriterThatFails(t *testing.T) {
	p := mustDecode(t, exampleJSON(t))
	var whole strings.Builder
	if err := WriteMatrix(&whole, p); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, whole.Len() / 2, whole.Len() - 1} {
		if err := WriteMatrix(&brokenWriter{room}, p); !errors.Is(err, errBroken) {
			t.Errorf("after %d bytes: error = %v", room, err)
		}
	}
}

func TestGroupPutsACommaBetweenThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 66000: "66,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := group(n); got != want {
			t.Errorf("%d = %s, want %s", n, got, want)
		}
	}
}

func TestPointersEscapeAsRFC6901Asks(t *testing.T) {
	if got := at(at("", "a/b~c"), 3); got != "/a~1b~0c/3" {
		t.Error(got)
	}
	if got := (Problem{"code", "", "detail"}).String(); got != "/  code  detail" {
		t.Error(got)
	}
}
