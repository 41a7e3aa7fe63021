package extract

import (
	"context"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// chapter is one parsed part of a Markdown document.
type chapter struct {
	out    *builder
	source []byte
}

// blocks reads the blocks inside of parent, at any depth.
func (c *chapter) blocks(ctx context.Context, parent ast.Node) error {
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		switch node := node.(type) {
		case *ast.Heading:
			c.out.headed(node.Level, c.inline(node))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			c.out.paragraph(c.lines(node))
		case *ast.HTMLBlock:
			raw := c.lines(node)
			if node.HasClosure() {
				raw += string(node.ClosureLine.Value(c.source))
			}
			if err := readHTML(ctx, c.out, raw); err != nil {
				return err
			}
		case *tables.Table:
			c.out.paragraph(c.table(node))
		case *ast.Paragraph, *ast.TextBlock:
			c.out.paragraph(c.inline(node))
		default:
			if err := c.blocks(ctx, node); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *chapter) lines(node ast.Node) string {
	var out strings.Builder
	for i := range node.Lines().Len() {
		line := node.Lines().At(i)
		out.Write(line.Value(c.source))
	}
	return out.String()
}

// table is one line a row.
func (c *chapter) table(node ast.Node) string {
	var rows []string
	for row := node.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, oneLine(c.inline(cell)))
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	return strings.Join(rows, "\n")
}

// inline is the text of a block without its marks: of links and images what is shown, not where they lead.
func (c *chapter) inline(block ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(block, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Text:
			out.Write(c.literal(node))
			if node.HardLineBreak() {
				out.WriteByte('\n')
			} else if node.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(node.Value)
		case *ast.AutoLink:
			out.Write(node.Label(c.source))
		case *ast.RawHTML:
			if strings.HasPrefix(strings.ToLower(string(node.Segments.Value(c.source))), "<br") {
				out.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// literal resolves entities and escapes, except in code.
func (c *chapter) literal(node *ast.Text) []byte {
	value := node.Value(c.source)
	if node.IsRaw() || (node.Parent() != nil && node.Parent().Kind() == ast.KindCodeSpan) {
		return value
	}
	return util.UnescapePunctuations(util.ResolveNumericReferences(util.ResolveEntityNames(value)))
}
