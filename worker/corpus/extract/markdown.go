package extract

import (
	"context"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// The parser's time grows with the square of hostile input (goldmark 1.8.7, quotation marks only: 64 KiB take 3 s, 1 MiB
// 10 min), and nobody can stop it in the middle. So only a document of at most wholeSize bytes is parsed as one. A longer one
// is parsed in parts of at most partSize, cut before a heading or at an empty line; ctx is looked at between them.
// All that is lost is a link whose address stands in another part: its brackets stay.
const (
	wholeSize = 64 << 10
	partSize  = 16 << 10
)

var (
	frontMatter = regexp.MustCompile(`\A---[ \t]*\n(?s:(.*?\n)?)(?:---|\.\.\.)[ \t]*(?:\n|\z)`)
	frontTitle  = regexp.MustCompile(`(?m)^title:[ \t]*(.+)$`)
	fence       = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	atx         = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]`)
)

func readMarkdown(ctx context.Context, out *builder, source string) error {
	if block := frontMatter.FindStringSubmatchIndex(source); block != nil {
		front := source[:block[1]]
		source = source[block[1]:]
		if title := frontTitle.FindStringSubmatch(front); title != nil {
			out.title = strings.Trim(strings.TrimSpace(title[1]), `"'`)
		}
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser()
	size := partSize
	if len(source) <= wholeSize {
		size = wholeSize
	}
	for source != "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := source[:partEnd(source, size)]
		source = source[len(part):]
		reader := &chapter{out: out, source: []byte(part)}
		if err := reader.blocks(ctx, parser.Parse(text.NewReader(reader.source))); err != nil {
			return err
		}
	}
	return nil
}

// partEnd is where the first part of a document ends: the last good place within size bytes.
func partEnd(source string, size int) int {
	if len(source) <= size {
		return len(source)
	}
	line, blank, headed, open := 0, 0, 0, ""
	for at := 0; at < size; {
		next := strings.IndexByte(source[at:size], '\n') + 1
		if next == 0 {
			break
		}
		content := source[at : at+next]
		switch mark := fence.FindStringSubmatch(content); {
		case mark != nil && open == "":
			open = mark[1]
		case mark != nil && strings.HasPrefix(mark[1], open):
			open = ""
		case open == "" && at > 0 && atx.MatchString(content):
			headed = at
		case open == "" && strings.TrimSpace(content) == "":
			blank = at + next
		}
		at += next
		line = at
	}
	for _, end := range []int{headed, blank, line} {
		if end > 0 {
			return end
		}
	}
	end := size
	for end > size-4 && source[end]&0xc0 == 0x80 {
		end-- // not inside a character
	}
	return end
}
