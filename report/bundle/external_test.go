package bundle

import "testing"

// withExternal adds a file that is named and not published, as change makes it.
func withExternal(change func(*External)) func(box) {
	return func(b box) {
		b.remanifest(func(m *Manifest) { m.Predicate.External = append(m.Predicate.External, external(change)) })
	}
}

func external(change func(*External)) External {
	e := External{
		Name: "events.tar", SHA256: digestOf([]byte("events")), Size: 7_000_000,
		URL:            "https://zenodo.org/records/1234567/files/events.tar",
		RetentionOwner: "the author", RetentionTerm: "ten years",
	}
	change(&e)
	return e
}

func atAddress(url string) func(box) {
	return withExternal(func(e *External) { e.URL = url })
}

var externalTampers = []tamper{
	{"external over http", "V-12", atAddress("http://zenodo.org/events.tar")},
	{"external without a scheme", "V-12", atAddress("zenodo.org/events.tar")},
	{"external on a file path", "V-12", atAddress("file:///data/events.tar")},
	{"external with credentials", "V-12", atAddress("https://user:pass@zenodo.org/events.tar")},
	{"external with a token", "V-12", atAddress("https://zenodo.org/events.tar?access_token=abc")},
	{"external with a signed address", "V-12", atAddress("https://bucket.s3.amazonaws.com/e.tar?X-Amz-Signature=abc")},
	{"external that moves", "V-12", atAddress("https://github.com/o/r/releases/latest/download/events.tar")},
	{"external with a moving tag", "V-12", atAddress("https://images.example.com/v2/o/r:latest")},
	{"external at a private address", "V-12", atAddress("https://192.168.1.7/events.tar")},
	{"external at a CGNAT address", "V-12", atAddress("https://100.101.102.103/events.tar")},
	{"external at a private IPv6 address", "V-12", atAddress("https://[fd7a:115c::1]/events.tar")},
	{"external at a mapped private address", "V-12", atAddress("https://[::ffff:10.0.0.1]/events.tar")},
	{"external at the loopback in short", "V-12", atAddress("https://127.1/events.tar")},
	{"external in a tailnet", "V-12", atAddress("https://gpu.tail1234.ts.net/events.tar")},
	{"external at a bare host", "V-12", atAddress("https://gpuhost/events.tar")},
	{"external without an owner", "V-12", withExternal(func(e *External) { e.RetentionOwner = " " })},
	{"external without a term", "V-12", withExternal(func(e *External) { e.RetentionTerm = "" })},
	{"external without a name", "V-12", withExternal(func(e *External) { e.Name = "" })},
	{"external without a size", "V-12", withExternal(func(e *External) { e.Size = 0 })},
	{"external named twice", "V-12", func(b box) {
		withExternal(func(*External) {})(b)
		withExternal(func(*External) {})(b)
	}},
}

func TestExternalFilesThatPass(t *testing.T) {
	for name, change := range map[string]func(*External){
		"at a public address":   func(*External) {},
		"at a public IP":        func(e *External) { e.URL = "https://140.82.121.4/events.tar" },
		"at a fixed release":    func(e *External) { e.URL = "https://github.com/o/r/releases/download/v1.2.3/events.tar" },
		"with a harmless query": func(e *External) { e.URL = "https://zenodo.org/records/1/files/e.tar?download=1" },
		"by digest only":        func(e *External) { e.URL, e.RetentionOwner, e.RetentionTerm = "", "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			b := sealed(t, testDraft(testID))
			withExternal(change)(b)
			l, err := Load(b.bundle())
			b.must(err)
			r := Verify(l, Options{})
			if !r.OK() {
				t.Errorf("problems: %v", r.Problems)
			}
			for _, s := range r.Skips {
				if s.Code == "V-12" {
					t.Error("V-12 did not run")
				}
			}
		})
	}
}
