package plan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestDigestFollowsTheValueAndNotTheSpelling(t *testing.T) {
	example := exampleJSON(t)
	want := mustDecode(t, example).Digest()
	var compact bytes.Buffer
	if err := json.Compact(&compact, example); err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) []byte {
		s := strings.Replace(string(example), old, new, 1)
		if s == string(example) {
			t.Fatalf("the example no longer has %s", old)
		}
		return []byte(s)
	}
	for name, data := range map[string][]byte{
		"compact":           compact.Bytes(),
		"other order":       mutate(t, func(anyMap) {}), // encoding/json sorts keys
		"trailing zero":     replace(`"temperature": 0.6`, `"temperature": 0.60`),
		"exponent":          replace(`"temperature": 0.6`, `"temperature": 6e-1`),
		"whole as fraction": replace(`"max_tokens": 16384`, `"max_tokens": 16384.0`),
		"escapes":           replace(`"campaign_id"`, `"\u0063ampaign_id"`),
		"escaped solidus":   replace(`brandonmusic/GLM`, `brandonmusic\/GLM`),
	} {
		p := mustDecode(t, data)
		if p.Digest() != want {
			t.Errorf("%s: another digest", name)
		}
		if p.BytesSHA256() == hexSHA256(example) {
			t.Errorf("%s: the bytes digest does not follow the bytes", name)
		}
	}
	seen := map[string]string{want: "the example"}
	for name, data := range map[string][]byte{
		"number":        replace(`"temperature": 0.6`, `"temperature": 0.61`),
		"number's type": replace(`"temperature": 0.6`, `"temperature": "0.6"`),
		"text":          replace(`"--temperature",`, `"--temperature ",`),
		"argv's text":   replace(`"0.6"`, `"0.60"`),
		"2^53":          replace(`"seed": 481001`, `"seed": 9007199254740992`),
		"2^53 + 1":      replace(`"seed": 481001`, `"seed": 9007199254740993`),
		"unknown key":   mutate(t, func(m anyMap) { m["x"] = 1 }),
		"unknown value": mutate(t, func(m anyMap) { m["x"] = 2 }),
		"cell key":      mutate(t, func(m anyMap) { cellAt(m, 3)["x"] = 2 }),
		"cell order": mutate(t, func(m anyMap) {
			list := m["matrix"].([]any)
			list[2], list[3] = list[3], list[2]
		}),
		"removed key": mutate(t, func(m anyMap) { delete(m, "owner") }),
	} {
		p, _ := Decode(data)
		if before := seen[p.Digest()]; before != "" {
			t.Errorf("%s has the digest of %s", name, before)
		}
		seen[p.Digest()] = name
	}
}

func TestCanonicalNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0.0e5": "0", "0e-400": "0",
		"1": "1", "10": "10", "1e1": "10", "1E+1": "10", "100e-1": "10", "-1.50": "-1.5",
		"0.6": "0.6", "0.60": "0.6", "6e-1": "0.6", "0.0006e3": "0.6",
		"9007199254740993": "9007199254740993", "9007199254740993.0": "9007199254740993",
		"123456789012345678901": "123456789012345678901", "1e20": "100000000000000000000", "1e21": "1e+21", "1234e20": "1.234e+23",
		"0.000001": "0.000001", "0.0000001": "1e-7", "1.25e-9": "1.25e-9",
	} {
		if got, ok := canonicalNumber(text); !ok || got != want {
			t.Errorf("%s = %s %t, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"1e401", "1e-401", "1e99999999999999999999", strings.Repeat("1", 401), "0." + strings.Repeat("0", 400) + "1"} {
		if got, ok := canonicalNumber(text); ok {
			t.Errorf("%.20s... = %.20s, want a refusal", text, got)
		}
	}
}

func TestCanonicalTextFollowsRFC8785(t *testing.T) {
	// The members of RFC 8785 section 3.2.3, and the escapes of 3.2.2.2.
	const in = `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
		`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",` +
		`"s":"\u0008\u0009\u000a\u000c\u000d\u0000\u001f\u007f\"\\\/<","n":[1.0,true,null,{}],"e":[]}`
	const want = `{"\r":"Carriage Return","1":"One","e":[],"n":[1,true,null,{}],` +
		`"s":"\b\t\n\f\r\u0000\u001f` + "\x7f" + `\"\\/<",` +
		"\"\u0080\":\"Control\",\"\u00f6\":\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\"," +
		"\"\U0001f600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"
	root, ok, problems := parseJSON([]byte(in))
	if !ok || len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := string(canonical(root)); got != want {
		t.Errorf("canonical text\n%s\nwant\n%s", got, want)
	}
}
