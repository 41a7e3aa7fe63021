package extract

import (
	"context"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// partSize bounds what the parser sees at once, in bytes. Its time grows with the square of hostile input: 64 KiB of
// quotation marks take seconds, 1 MiB takes half an hour (measured with goldmark 1.8.7). A longer document is
// parsed in parts, cut before a heading or at an empty line; all that is lost is a link whose address stands in another part.
const partSize = 64 << 10

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
	for source != "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := source[:partEnd(source)]
		source = source[len(part):]
		reader := &chapter{out: out, source: []byte(part)}
		if err := reader.blocks(ctx, parser.Parse(text.NewReader(reader.source))); err != nil {
			return err
		}
	}
	return nil
}

// partEnd is where the first part of a document ends: the last good place within partSize.
func partEnd(source string) int {
	if len(source) <= partSize {
		return len(source)
	}
	line, blank, headed, open := 0, 0, 0, ""
	for at := 0; at < partSize; {
		next := strings.IndexByte(source[at:], '\n') + 1
		if next == 0 || at+next > partSize {
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
	end := partSize
	for end > partSize-4 && source[end]&0xc0 == 0x80 {
		end-- // not inside a character
	}
	return end
}
