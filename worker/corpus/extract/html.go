package extract

import (
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML reads a page token by token. A tree would need many times the page's size in memory.
func readHTML(ctx context.Context, out *builder, text string) error {
	page := &page{out: out, tokens: html.NewTokenizer(strings.NewReader(text))}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch page.tokens.Next() {
		case html.ErrorToken:
			page.flush()
			if err := page.tokens.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case html.TextToken:
			page.text(page.tokens.Text())
		case html.StartTagToken:
			page.start()
		case html.SelfClosingTagToken:
			page.single()
		case html.EndTagToken:
			page.end()
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// page is a document while it is read.
type page struct {
	out    *builder
	tokens *html.Tokenizer

	block strings.Builder
	level int       // of the open heading; 0 outside of one
	mute  atom.Atom // the open element whose text is no text of the page
	depth int       // how often mute is open
	title bool      // inside the first title element
	pre   int       // inside so many pre elements
}

func (p *page) text(text []byte) {
	switch {
	case p.title:
		if p.out.title == "" {
			p.out.title = string(text)
		}
	case p.mute != 0:
	case p.pre > 0:
		p.block.Write(text)
	default:
		p.block.WriteString(flow(string(text)))
	}
}

// flow makes line breaks in running text what they are in HTML: spaces.
func flow(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\f' {
			return ' '
		}
		return r
	}, text)
}

func (p *page) tag() atom.Atom {
	name, _ := p.tokens.TagName()
	return atom.Lookup(name)
}

func (p *page) start() {
	tag := p.tag()
	switch {
	case p.mute != 0:
		if tag == p.mute {
			p.depth++
		}
	case silent(tag):
		p.mute, p.depth = tag, 1
	case tag == atom.Title:
		p.title = p.out.title == ""
		if !p.title {
			p.mute, p.depth = tag, 1
		}
	case heading(tag) > 0:
		p.flush()
		p.level = heading(tag)
	case tag == atom.Pre:
		p.flush()
		p.pre++
	default:
		p.between(tag)
	}
}

// single is a tag that closes itself. HTML knows that for void elements only; XHTML for all.
func (p *page) single() {
	if p.mute == 0 {
		p.between(p.tag())
	}
}

func (p *page) end() {
	tag := p.tag()
	switch {
	case p.mute != 0:
		if tag == p.mute {
			p.depth--
		}
		if p.depth == 0 {
			p.mute = 0
		}
	case tag == atom.Title:
		p.title = false
	case heading(tag) > 0:
		p.flush()
	case tag == atom.Pre:
		p.flush()
		p.pre = max(0, p.pre-1)
	default:
		p.between(tag)
	}
}

// between is what a tag does to the text around it.
func (p *page) between(tag atom.Atom) {
	switch {
	case tag == atom.Br:
		p.block.WriteByte('\n')
	case tag == atom.Td || tag == atom.Th || tag == atom.Option:
		p.block.WriteByte(' ')
	case tag == atom.Tr || tag == atom.Li || tag == atom.Dt || tag == atom.Dd:
		p.block.WriteByte('\n')
	case paragraph(tag) && p.level > 0:
		p.block.WriteByte(' ')
	case paragraph(tag):
		p.flush()
	}
}

// flush ends a paragraph or a heading.
func (p *page) flush() {
	if p.level > 0 {
		p.out.headed(p.level, p.block.String())
		p.level = 0
	} else {
		p.out.paragraph(p.block.String())
	}
	p.block.Reset()
}

func silent(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Object, atom.Iframe, atom.Noframes, atom.Noembed, atom.Canvas:
		return true
	default:
		return false
	}
}

func heading(tag atom.Atom) int {
	switch tag {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	default:
		return 0
	}
}

func paragraph(tag atom.Atom) bool {
	switch tag {
	case atom.Html, atom.Head, atom.Body, atom.P, atom.Div, atom.Section, atom.Article, atom.Aside, atom.Header, atom.Footer,
		atom.Nav, atom.Main, atom.Address, atom.Blockquote, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Caption, atom.Thead,
		atom.Tbody, atom.Tfoot, atom.Figure, atom.Figcaption, atom.Form, atom.Fieldset, atom.Legend, atom.Hr, atom.Details,
		atom.Summary, atom.Dialog, atom.Hgroup, atom.Search, atom.Menu, atom.Center:
		return true
	default:
		return false
	}
}
