package extract

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	utf16 "golang.org/x/text/encoding/unicode"

	"github.com/kesita/platform/worker/corpus/refusal"
)

type kind int

const (
	plain kind = iota
	markdown
	markup
)

// sniffed is how much of a document decides about its format and encoding, in bytes.
const sniffed = 64 << 10

// errNoise is the answer to bytes that are no text.
var errNoise = fmt.Errorf("%w: no text in any known encoding", refusal.Binary)

// detect chooses the reader. The bytes may veto: a PDF that is called notes.txt is a PDF. A signature counts only for what
// is not text anyway: "BM" begins a bitmap, and many a sentence.
func detect(raw []byte, hint Hint) (kind, error) {
	seen, _, _ := strings.Cut(http.DetectContentType(raw), ";")
	text := wide(raw) != nil || strings.HasPrefix(seen, "text/") || (utf8.Valid(raw) && !noise(raw))
	switch {
	case seen == "application/pdf":
		return plain, fmt.Errorf("%w: %s", refusal.Unsupported, seen)
	case text:
	case seen != "application/octet-stream":
		return plain, fmt.Errorf("%w: %s", refusal.Unsupported, seen)
	case noise(raw):
		return plain, errNoise
	}
	said, _, _ := mime.ParseMediaType(hint.MediaType)
	switch said {
	case "text/markdown", "text/x-markdown":
		return markdown, nil
	case "text/html", "application/xhtml+xml":
		return markup, nil
	}
	switch strings.ToLower(path.Ext(hint.Name)) {
	case ".md", ".markdown", ".mdown":
		return markdown, nil
	case ".html", ".htm", ".xhtml":
		return markup, nil
	}
	if seen == "text/html" {
		return markup, nil
	}
	return plain, nil
}

// decode turns bytes into UTF-8. In this order: a byte order mark, UTF-16 without one, valid UTF-8, what an HTML page
// or a server says about itself, UTF-8 with a few broken bytes, and at last Windows-1252, which contains Latin-1.
func decode(raw []byte, k kind, mediaType string) (string, error) {
	from := wide(raw)
	if from == nil && !utf8.Valid(raw) {
		from = narrow(raw, k, mediaType)
	}
	if from != nil {
		decoded, err := from.NewDecoder().Bytes(raw)
		if err != nil {
			return "", errNoise
		}
		raw = decoded
	}
	text := strings.ToValidUTF8(string(raw), string(utf8.RuneError))
	if noise(text) || strange(text) {
		return "", errNoise
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), nil
}

// wide recognises UTF-16 (with a mark, or by the zero byte of every Latin character) and UTF-8 with a mark; nil else.
func wide(raw []byte) encoding.Encoding {
	switch {
	case bytes.HasPrefix(raw, []byte{0xef, 0xbb, 0xbf}):
		return utf16.UTF8BOM
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
		return utf16.UTF16(utf16.LittleEndian, utf16.UseBOM)
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return utf16.UTF16(utf16.BigEndian, utf16.UseBOM)
	}
	head := raw[:min(len(raw), sniffed)&^1]
	var zero [2]int
	for i, b := range head {
		if b == 0 {
			zero[i&1]++
		}
	}
	half := len(head) / 2
	switch {
	case half < 2:
		return nil
	case zero[1] > half*7/10 && zero[0] <= half/20:
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)
	case zero[0] > half*7/10 && zero[1] <= half/20:
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)
	}
	return nil
}

// narrow chooses for bytes that are not valid UTF-8; nil means UTF-8 all the same.
func narrow(raw []byte, k kind, mediaType string) encoding.Encoding {
	said, name, sure := charset.DetermineEncoding(raw[:min(len(raw), 1024)], mediaType)
	if name != "utf-8" && (sure || (k == markup && name != "windows-1252")) { // the last is what it says when it does not know
		return said
	}
	good, bad := 0, 0
	for rest := raw[:min(len(raw), sniffed)]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			bad++
		case size > 1:
			good++
		}
		rest = rest[size:]
	}
	if good > 4*bad {
		return nil
	}
	return charmap.Windows1252
}

// noise reports bytes that no text has: a NUL, or more than one control character in a hundred.
func noise[T string | []byte](raw T) bool {
	controls := 0
	for i := range len(raw) {
		b := raw[i]
		switch {
		case b == 0:
			return true
		case b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b, b == 0x7f:
			controls++
		}
	}
	return controls*100 > len(raw)
}

// strange reports text in which more than one character in ten is no character of any script: bytes that were decoded
// as something that they are not.
func strange(text string) bool {
	all, odd := 0, 0
	for _, r := range text {
		all++
		if r == utf8.RuneError || !unicode.In(r, unicode.GraphicRanges...) && !unicode.In(r, unicode.White_Space, unicode.Cf) {
			odd++
		}
	}
	return odd*10 > all
}
