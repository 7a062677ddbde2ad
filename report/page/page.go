// Package page renders a published finding as one HTML page. In comes the
// narrative with the plots of its bundle; out goes a page that needs nothing else:
// no script, no other file. It never changes a finding, and text of the evidence
// stays text: goldmark runs without unsafe, and the page forbids itself everything
// but its own style and pictures.
package page

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"assay/report/bundle"
	"assay/templates"
)

// Render makes the page of a finding. finding is the narrative or the
// bundle's folder. Links to the evidence lead from the folder pageDir, in which
// the page will lie, to the findings folder; an empty pageDir leaves them as they
// are in the narrative. A picture that cannot be read is an error.
func Render(finding, pageDir string) ([]byte, error) {
	narrative, err := narrativeOf(finding)
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(narrative)
	if err != nil {
		return nil, fmt.Errorf("read finding: %w", err)
	}
	p := page{dir: filepath.Dir(narrative), source: source}
	if pageDir != "" {
		if p.prefix, err = way(pageDir, p.dir); err != nil {
			return nil, fmt.Errorf("lead links to the evidence: %w", err)
		}
	}
	out, err := p.render()
	if err != nil {
		return nil, fmt.Errorf("page of %s: %w", filepath.Base(narrative), err)
	}
	return out, nil
}

// way is the relative path from one folder to another, with slashes.
func way(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	return filepath.ToSlash(rel), err
}

// narrativeOf returns the narrative's file, also for a bundle's folder.
func narrativeOf(finding string) (string, error) {
	finding = filepath.Clean(finding)
	info, err := os.Stat(finding)
	if err != nil {
		return "", fmt.Errorf("find finding: %w", err)
	}
	if !info.IsDir() {
		return finding, nil
	}
	l, err := bundle.Load(finding)
	if err != nil {
		return "", err
	}
	if l.Manifest == nil {
		return "", fmt.Errorf("%w; see assay verify on that folder", l.ManifestErr)
	}
	return filepath.Join(filepath.Dir(finding), bundle.NarrativeName(l.Manifest.Predicate.Finding.ID)), nil
}

type page struct {
	dir    string // findings folder
	prefix string // before links that lead there
	source []byte
}

// pageView is what the page's template sees.
type pageView struct {
	Title    string
	Style    template.CSS
	Sections []pageSection
	Body     template.HTML
}

type pageSection struct{ ID, Title string }

func (p *page) render() ([]byte, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(pageNodes{}, 100))),
	)
	doc := md.Parser().Parse(text.NewReader(p.source))
	var v pageView
	if err := p.prepare(doc, &v); err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := md.Renderer().Render(&body, p.source, doc); err != nil {
		return nil, err
	}
	style, err := templates.FS.ReadFile("page.css")
	if err != nil {
		return nil, err
	}
	t, err := template.ParseFS(templates.FS, "page.html.tmpl")
	if err != nil {
		return nil, err
	}
	v.Style, v.Body = template.CSS(style), template.HTML(body.String()) // made by goldmark, which escapes all text
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// prepare puts the plots into the document, leads links to the evidence, drops our
// marks and lists the headings.
func (p *page) prepare(doc ast.Node, v *pageView) error {
	var marks []ast.Node
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock:
			marks = append(marks, n)
		case *ast.Heading:
			p.heading(n, v)
		case *ast.Link:
			n.Destination = []byte(p.lead(string(n.Destination)))
		case *ast.Image:
			data, err := p.picture(string(n.Destination))
			n.Destination = data
			return ast.WalkContinue, err
		}
		return ast.WalkContinue, nil
	})
	for _, m := range marks {
		m.Parent().RemoveChild(m.Parent(), m)
	}
	return err
}

func (p *page) heading(n *ast.Heading, v *pageView) {
	title := textOf(n, p.source)
	if n.Level == 1 && v.Title == "" {
		v.Title = title
	}
	if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
		v.Sections = append(v.Sections, pageSection{ID: string(id.([]byte)), Title: title})
	}
}

// textOf is the plain text below a node.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(util.UnescapePunctuations(c.Value(source)))
		default:
			b.WriteString(textOf(c, source))
		}
	}
	return b.String()
}

// lead puts the way to the findings folder before a relative link.
func (p *page) lead(link string) string {
	if p.prefix == "" || strings.HasPrefix(link, "#") || strings.Contains(link, "://") {
		return link
	}
	return path.Join(p.prefix, link)
}

// picture reads a plot of the bundle.
func (p *page) picture(name string) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Ext(name) != ".svg" {
		return nil, errors.New("a picture that is no plot of the bundle")
	}
	data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("the plot %s of the bundle cannot be read", path.Base(name))
	}
	return []byte("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(data)), nil
}

// manyColumns is from where a table's cells keep to one line, so that it scrolls
// on a narrow screen; with fewer columns its words wrap.
const manyColumns = 5

// pageNodes renders tables and pictures in frames of their own, which scroll
// where the screen is narrower than they are.
type pageNodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (pageNodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(east.KindTable, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		frame := "</table></div>\n"
		if entering {
			class := "wide"
			if len(n.(*east.Table).Alignments) >= manyColumns {
				class = "wide dense"
			}
			frame = `<div class="` + class + `" tabindex="0" role="region" aria-label="Table"><table>` + "\n"
		}
		_, err := w.WriteString(frame)
		return ast.WalkContinue, err
	})
	r.Register(ast.KindImage, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		image := n.(*ast.Image)
		alt := template.HTMLEscapeString(textOf(image, source))
		_, err := fmt.Fprintf(w, `<span class="plot" tabindex="0"><img src="%s" alt="%s"></span>`, image.Destination, alt)
		return ast.WalkSkipChildren, err
	})
}
