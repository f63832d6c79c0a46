package page

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/collet-dev/collet/plugins/websearch/internal/plaintext"
)

const (
	// maxElements and maxDepth bound what extraction, which visits elements again and
	// again, is let loose on; pages have a few thousand, some dozens deep.
	maxElements = 30_000
	maxDepth    = 200
	// maxQuotes bounds quotes and lists in each other: Markdown repeats a mark of each
	// before every line.
	maxQuotes = 16
	// maxMeta bounds a title and its like, in bytes.
	maxMeta = 300
)

// read fills p from an HTML page: its article as Markdown, and where no article is
// to be found, all of its body.
func (p *Page) read(text string, at *url.URL) error {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("the page is no HTML that can be read: %w", err)
	}
	if n := prune(doc); n > maxElements {
		return fmt.Errorf("the page has %d elements, more than %d: it is not read", n, maxElements)
	}
	whole := body(doc) // extraction takes the document apart
	article, err := readability.FromDocument(doc, at)
	if err == nil {
		p.Title = plaintext.Of(article.Title(), maxMeta)
		p.Byline = plaintext.Of(article.Byline(), maxMeta)
		p.SiteName = plaintext.Of(article.SiteName(), maxMeta)
		if t, err := article.PublishedTime(); err == nil {
			p.PublishedAt = t.UTC().Format(time.RFC3339)
		}
	}
	node := article.Node
	if err != nil || node == nil {
		node = whole
	}
	out, err := htmltomarkdown.ConvertNode(node, converter.WithDomain(at.String()))
	if err != nil {
		return fmt.Errorf("the page cannot be turned into Markdown: %w", err)
	}
	p.Text = strings.TrimSpace(string(out))
	return nil
}

// unseen are elements whose content nobody reads.
var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true,
	atom.Object: true, atom.Embed: true, atom.Svg: true, atom.Canvas: true,
}

// prune takes out what is not for reading, comments too, and what is nested too
// deep, and counts the elements that are left. Metadata in scripts (JSON-LD) stays.
func prune(doc *html.Node) int {
	count := 0
	type item struct {
		n             *html.Node
		depth, quotes int
	}
	for todo := []item{{doc, 0, 0}}; len(todo) > 0; {
		it := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for c := it.n.FirstChild; c != nil; {
			next := c.NextSibling
			quotes := it.quotes
			if c.DataAtom == atom.Blockquote || c.DataAtom == atom.Ul || c.DataAtom == atom.Ol {
				quotes++
			}
			if it.depth >= maxDepth || quotes > maxQuotes || c.Type == html.CommentNode || c.Type == html.ElementNode && unwanted(c) {
				it.n.RemoveChild(c)
			} else if c.Type == html.ElementNode {
				count++
				todo = append(todo, item{c, it.depth + 1, quotes})
			}
			c = next
		}
	}
	return count
}

func unwanted(n *html.Node) bool {
	hidden := false
	for _, a := range n.Attr {
		switch {
		case n.DataAtom == atom.Script && a.Key == "type" && a.Val == "application/ld+json":
			return false
		case a.Key == "hidden", a.Key == "aria-hidden" && a.Val == "true",
			a.Key == "style" && strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none"):
			hidden = true
		}
	}
	return hidden || unseen[n.DataAtom]
}

// body is a copy of the document's body without metadata.
func body(doc *html.Node) *html.Node {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Body {
			return clone(n)
		}
	}
	return &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
}

func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, Data: n.Data, DataAtom: n.DataAtom, Namespace: n.Namespace, Attr: n.Attr}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom != atom.Script {
			c.AppendChild(clone(k))
		}
	}
	return c
}
