package private

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"
)

// FuzzRedact holds for any text: what was redacted passes the scan, and
// redacting it again, by another Redactor too, changes nothing.
func FuzzRedact(f *testing.F) {
	for in := range redactions {
		f.Add("", in)
	}
	for _, key := range []string{"authorization", "env", "sha256", "container_id", "content", "value", "hostname"} {
		f.Add(key, "PATH=/home/op/bin:/usr/bin")
	}
	for _, in := range []string{
		`{"a": ["--token", "x", {"env": {"A": "b"}}], "messages": "hi", "n": 1e400}`, `["\u002fhome\u002fop"]`, "a%2Fb %2Fhome%2Fop", "&#47;home&#47;op",
		base64.StdEncoding.EncodeToString([]byte("open /home/op/x: denied")), `\/home\/op \u002fhome`, "http://[fd00::1]:80/ [host-a] fd00::1",
		"A=1\nB=2\nC=3\n", "\xff\xfe /home/\xff", "[REDACTED] [host-a]@x.local", "~op/x ~/y //x/y /:/x", "a@b.co@c.de",
	} {
		f.Add("", in)
	}
	f.Fuzz(func(t *testing.T, key, in string) {
		var once, twice Redactor
		once.Host("rig")
		got := once.Value(key, in)
		if left := (Known{}).ScanValue(key, got); len(left) > 0 {
			t.Errorf("%q becomes %q, where %v is left", in, got, left)
		}
		if again := once.Value(key, got); again != got {
			t.Errorf("%q redacted again is %q", got, again)
		}
		if again := twice.Value(key, got); again != got || twice.Counts.Total() != 0 {
			t.Errorf("%q redacted by another is %q", got, again)
		}
	})
}

func TestPlaceholdersAreStableAndKeepClear(t *testing.T) {
	r := NewRedactor("the plan names [host-a] and [container-2] already")
	id, other := strings.Repeat("0f", 32), strings.Repeat("1e", 32)
	r.Known.Deny = []string{"rig7"}
	for _, step := range []struct{ key, in, want string }{
		{"", "10.0.0.5 and 10.0.0.6", "[host-b] and [host-c]"},
		{"", "İİ \u212a at RIG7, not rig70", "İİ \u212a at [host-d], not rig70"}, // letters whose lower case has another length
		{"container_id", "engine-7", "[container-1]"},
		{"", "container " + id, "container [container-3]"},
		{"container_id", id, "[container-3]"},
		{"", "10.0.0.6: " + other, "[host-c]: [container-4]"},
	} {
		if got := r.Value(step.key, step.in); got != step.want {
			t.Errorf("%q: %q, want %q", step.in, got, step.want)
		}
	}
}

func TestNumbersAndOrderOfJSONStay(t *testing.T) {
	var r Redactor
	in := `{"b": 1.50, "a": "/home/op/x", "c": 12345678901234567890, "d": [1e2, true, null]}`
	want := `{"a":"[PRIVATE_OPERATOR_ROOT]/x","b":1.50,"c":12345678901234567890,"d":[1e2,true,null]}`
	if got := r.Text(in); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	same := `{ "b": 1.50,  "a": "/v1/models" }`
	if got := r.Text(same); got != same {
		t.Errorf("nothing private, and still %s", got)
	}
}

func TestCountsHoldClassesOnly(t *testing.T) {
	var r Redactor
	r.Text("/home/op/x at 10.0.0.5 and /srv/y")
	if want := (Counts{MachinePath: 2, PrivateAddress: 1}); !maps.Equal(r.Counts, want) || r.Counts.Total() != 3 {
		t.Errorf("%v, want %v", r.Counts, want)
	}
}

func TestSecretsKeepsWhatTheOperatorNeeds(t *testing.T) {
	in := "open /home/op/plan.json on 10.0.0.5: Authorization: Bearer abcdefgh12345678\nkey correct-horse"
	want := "open /home/op/plan.json on 10.0.0.5: Authorization: [REDACTED]\nkey [REDACTED]"
	if got := Secrets(in, []string{"correct-horse", "x"}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWorkOnOneTextIsBounded: what holds more decoded forms than are looked at is
// private for that.
func TestWorkOnOneTextIsBounded(t *testing.T) {
	text := `["\\a%41&amp;", "\\b%41&amp;", "\\c%41&amp;", "\\d%41&amp;"]`
	if got := (Known{}).Scan(text); len(got) != 0 {
		t.Errorf("%v, want nothing", got)
	}
	if got := (Known{}).scan(view{text: text}, 0, &looked{left: 1000, at: map[view]int{}}); len(got) == 0 || got[0] != Encoded {
		t.Errorf("%v, want that it is encoded", got)
	}
	var r Redactor
	if got := r.Text(strings.Repeat("fine text ", maxText/10+1)); got != Redacted {
		t.Errorf("a text too long to be looked at is published: %.20q", got)
	}
}

func TestSecretVariables(t *testing.T) {
	got := SecretVariables([]string{"HF_TOKEN=a", "API_KEY=b=c", "MAX_TOKENS=9", "PATH=/bin", "EMPTY_TOKEN=", "noequals", "SSH_PRIVATE_KEY=d"})
	if strings.Join(got, " ") != "a b=c d" {
		t.Errorf("%q", got)
	}
}

func TestRulesHaveLiteralsThatTheirPatternsNeed(t *testing.T) {
	// A rule whose literals are not in what it matches would miss in silence.
	for in := range redactions {
		lower := strings.ToLower(in)
		for _, r := range rules {
			free := r
			free.literals = nil
			if want, got := len(free.in(in, lower)), len(r.in(in, lower)); want != got {
				t.Errorf("rule %s %s finds %d in %q, %d without its literals", r.class, r.pattern, got, in, want)
			}
		}
	}
}
