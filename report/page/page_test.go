package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	findings = "../../findings"
	derived  = "2026-09-03-glm53-concurrency-and-kv-capacity"
	example  = "2026-10-17-glm53-serving-example"
)

func rendered(t *testing.T, finding, pageDir string) string {
	t.Helper()
	out, err := Render(filepath.Join(findings, finding), pageDir)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var (
	hrefs   = regexp.MustCompile(`href="([^"]*)"`)
	ids     = regexp.MustCompile(` id="([^"]*)"`)
	sources = regexp.MustCompile(`src="([^"]{0,40})`)
)

// TestPageNeedsNothingElse looks at every address in the pages of the published
// findings: pictures are inside, anchors are there, links lead to files.
func TestPageNeedsNothingElse(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{derived, example} {
		page := rendered(t, id+".md", dir)
		anchors := map[string]bool{}
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			anchors["#"+m[1]] = true
		}
		links := hrefs.FindAllStringSubmatch(page, -1)
		for _, m := range links {
			if strings.HasPrefix(m[1], "#") {
				if !anchors[m[1]] {
					t.Errorf("%s: %s leads nowhere", id, m[1])
				}
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
				t.Errorf("%s: link %s leads to no file from where the page lies", id, m[1])
			}
		}
		for _, m := range sources.FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[1], "data:image/svg+xml;base64,") {
				t.Errorf("%s: a picture is not in the page: %s", id, m[1])
			}
		}
		narrative, err := os.ReadFile(filepath.Join(findings, id+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(page, "<img "), strings.Count(string(narrative), "\n!["); got != want {
			t.Errorf("%s: %d pictures, the narrative has %d", id, got, want)
		}
		if got, want := strings.Count(page, "<table>"), len(regexp.MustCompile(`(?m)^\| -`).FindAllString(string(narrative), -1)); got != want {
			t.Errorf("%s: %d tables, the narrative has %d", id, got, want)
		}
		if len(links) < 20 || strings.Contains(page, "<script") || strings.Contains(page, "<!--") || !strings.Contains(page, "default-src 'none'") {
			t.Errorf("%s: %d links, a script or a comment, or no policy", id, len(links))
		}
	}
}

func TestPageOfAFolderIsThatOfItsNarrative(t *testing.T) {
	if a, b := rendered(t, derived+".md", ""), rendered(t, derived+"-evidence", ""); a != b {
		t.Error("the pages differ")
	}
	if page := rendered(t, derived+".md", ""); !strings.Contains(page, `href="`+derived+`-evidence/manifest.json"`) {
		t.Error("without a place of its own the page keeps the narrative's links")
	}
}

// TestTextOfTheEvidenceStaysText renders a narrative that tries to be more than
// text.
func TestTextOfTheEvidenceStaysText(t *testing.T) {
	dir := t.TempDir()
	narrative := "# A title \\<b\\> & more\n\n<script>alert(1)</script>\n\n## Part\n\nInline <img src=x onerror=alert(1)> and \\<i\\>text\\</i\\>, [link](javascript:alert%281%29).\n\n" +
		"| A | B |\n| --- | --- |\n| \\<script\\>alert(2)\\</script\\> | `</table><script>` |\n\n<!-- assay:end -->\n"
	file := filepath.Join(dir, "2026-10-17-x.md")
	if err := os.WriteFile(file, []byte(narrative), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := Render(file, "")
	if err != nil {
		t.Fatal(err)
	}
	page := string(out)
	for _, bad := range []string{"<script", "<img", "javascript:", "<i>", "<b>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	for _, want := range []string{"<title>A title &lt;b&gt; &amp; more</title>", "&lt;script&gt;alert(2)&lt;/script&gt;", "<code>&lt;/table&gt;&lt;script&gt;</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %s", want)
		}
	}
	for _, picture := range []string{"../secret.svg", "/etc/passwd", "missing.svg", "x.html"} {
		if err := os.WriteFile(file, []byte("# T\n\n![p]("+picture+")\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Render(file, ""); err == nil || strings.Contains(err.Error(), dir) {
			t.Errorf("picture %s: error %v; want one without the folder's name", picture, err)
		}
	}
}

// browser returns a Chromium that is installed, or skips.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium is installed, so the page is not looked at as a picture")
	return ""
}

func browse(t *testing.T, width int, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir(),
		fmt.Sprintf("--window-size=%d,2000", width),
	}, args...)
	out, err := exec.CommandContext(ctx, browser(t), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPageFitsPhoneAndDesktop lets a browser lay the pages out: the body is never
// wider than the screen, and a picture of it shows something. With ASSAY_KEEP set
// the pictures are kept there.
func TestPageFitsPhoneAndDesktop(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes a while; run without -short")
	}
	browser(t)
	keep := os.Getenv("ASSAY_KEEP")
	if keep == "" {
		keep = t.TempDir()
	}
	for _, id := range []string{derived, example} {
		page := rendered(t, id+".md", "")
		file := filepath.Join(t.TempDir(), "page.html")
		// Only this copy has a script: it says how wide the page came out.
		measured := regexp.MustCompile(`<meta http-equiv[^>]*>`).ReplaceAllString(page, "")
		measured = strings.Replace(measured, "</body>", "<script>parent.postMessage('width ' + document.documentElement.scrollWidth + ' of ' + innerWidth, '*')</script></body>", 1)
		for _, width := range []int{390, 1280} {
			// A browser's window is at least 500 wide; a frame in it is not.
			frame := fmt.Sprintf(`<!doctype html><title>none</title><script>onmessage = e => { document.title = e.data }</script>
				<iframe src="page.html" width="%d" height="2000" style="border: 0"></iframe>`, width)
			outer := filepath.Join(filepath.Dir(file), "frame.html")
			if err := errors.Join(os.WriteFile(file, []byte(measured), 0o600), os.WriteFile(outer, []byte(frame), 0o600)); err != nil {
				t.Fatal(err)
			}
			dom := string(browse(t, width, "--virtual-time-budget=3000", "--dump-dom", "file://"+outer))
			if want := fmt.Sprintf("<title>width %d of %d</title>", width, width); !strings.Contains(dom, want) {
				t.Errorf("%s at %d: %s", id, width, regexp.MustCompile(`<title>.*</title>`).FindString(dom))
			}
			picture := filepath.Join(keep, fmt.Sprintf("%s-%d.png", id, width))
			if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			browse(t, width, "--screenshot="+picture, "file://"+file)
			checkPicture(t, picture, width)
		}
	}
}

// checkPicture holds that a picture has its width and is not of one colour.
func checkPicture(t *testing.T, name string, width int) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 7 {
		for x := 0; x < img.Bounds().Dx(); x += 7 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if img.Bounds().Dx() != width || len(colours) < 10 {
		t.Errorf("%s is %d wide with %d colours", filepath.Base(name), img.Bounds().Dx(), len(colours))
	}
}
