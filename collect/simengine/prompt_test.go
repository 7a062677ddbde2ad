package simengine

import (
	"strings"
	"testing"
)

func TestPromptAsks(t *testing.T) {
	long := strings.Repeat("water exactly stone ", 5000)
	cases := []struct {
		name, prompt, marker string
		seed, index          uint64
		words                int
	}{
		{"controlled", "ASSAY_REQ_483001_00007\n" + long + "Write the lowercase word code exactly 128 times, separated by single spaces.", "ASSAY_REQ_483001_00007", 483001, 7, 128},
		{"code behind the number", "ASSAY_REQ_1_00000 exactly 12 words: code", "ASSAY_REQ_1_00000", 1, 0, 12},
		{"natural", "ASSAY_REQ_482001_00001\nSum up in one line.\n" + long, "ASSAY_REQ_482001_00001", 482001, 1, 0},
		{"exactly without code", "ASSAY_REQ_1_00000 list exactly 3 things", "ASSAY_REQ_1_00000", 1, 0, 0},
		{"zero words", "code exactly 0 times", "", 0, 0, 0},
		{"number too large", "code exactly 99999999999999999999 times", "", 0, 0, 0},
		{"number is bounded", "code exactly 999999999 times", "", 0, 0, maxCodeWords},
		{"leading space", " \nASSAY_REQ_5_00002\nx", "ASSAY_REQ_5_00002", 5, 2, 0},
		{"six digits", "ASSAY_REQ_5_000021 x", "", 0, 0, 0},
		{"marker later only", "please write ASSAY_REQ_5_00002", "", 0, 0, 0},
		{"seed out of range", "ASSAY_REQ_99999999999999999999_00002 x", "", 0, 0, 0},
		{"empty", "", "", 0, 0, 0},
		{"ends in exactly", "code exactly ", "", 0, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := readPrompt(c.prompt)
			want := ask{c.marker, c.seed, c.index, c.words}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestPromptTokensAreAboutFourFifthsOfTheLabel(t *testing.T) {
	for _, label := range []int{10240, 40960, 163840, 310272} {
		got := countTokens(strings.Repeat("abc", label))
		if share := float64(got) / float64(label); share < 0.79 || share > 0.81 {
			t.Errorf("label %d counts %d tokens", label, got)
		}
	}
	if countTokens("") != 0 || countTokens("a") != 1 {
		t.Error("small texts are miscounted")
	}
}

func TestProfilesFitThePlan(t *testing.T) {
	for _, name := range ProfileNames() {
		p, ok := LookupProfile(name)
		if !ok || p.check() != nil {
			t.Errorf("profile %s: %v", name, p.check())
		}
		edge := promptTokens(strings.Repeat("abc", 310272)) + 16384
		if edge > p.KVPoolTokens || edge > DefaultMaxModelLen {
			t.Errorf("profile %s cannot hold one request of %d tokens", name, edge)
		}
		if p.NumGPUBlocks*p.BlockSize > p.KVPoolTokens {
			t.Errorf("profile %s has more blocks than pool", name)
		}
	}
	if _, ok := LookupProfile("nope"); ok {
		t.Error("an unknown profile was found")
	}
}

func TestNewNamesEverythingWrong(t *testing.T) {
	_, err := New(Config{TimeScale: -1, Chunks: -2, MaxModelLen: -5, Faults: []string{"nope"}})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"model id", "max model len -5", "scales", "chunks -2", "profile", `unknown fault "nope"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}
