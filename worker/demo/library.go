package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/kesita/platform/worker/corpus/extract"
	"github.com/kesita/platform/worker/demo/texts"
	"github.com/kesita/platform/worker/product/task"
)

// document is one document of the demo.
type document struct {
	texts.Document
	// text is what the product is given; empty when there is none, and fault says why.
	text, fault string
}

// openLibrary lists the documents and reads the texts for the product. The corpus gets the web server's addresses and
// reads for itself.
func (r *run) openLibrary(ctx context.Context) error {
	var err error
	if r.options.Docs != "" {
		r.library, err = texts.Open(r.options.Docs)
	} else {
		folder := filepath.Join(r.folder, "texts")
		if err = os.Mkdir(folder, 0o700); err == nil {
			r.library, err = texts.Ship(folder)
		}
	}
	if err != nil {
		return err
	}
	readable := 0
	var faults strings.Builder
	for _, found := range r.library.Documents {
		d := read(ctx, found)
		r.documents = append(r.documents, d)
		if d.fault != "" {
			fmt.Fprintf(&faults, "\n  %s: %s", d.Name, d.fault)
			continue
		}
		readable++
	}
	if readable == 0 {
		return fmt.Errorf("%w that can be read: %s%s", texts.ErrEmpty, r.options.Docs, faults.String())
	}
	return nil
}

// read gets a document's text, or the reason why it has none.
func read(ctx context.Context, found texts.Document) document {
	d := document{Document: found, fault: found.Fault}
	switch {
	case d.fault != "":
		return d
	case d.Bytes > task.MaxBodyBytes:
		d.fault = task.ErrBodyTooLarge.Error()
		return d
	}
	text, err := os.ReadFile(d.Path)
	if err == nil {
		d.text, err = plain(ctx, d.Name, text)
	}
	if err == nil {
		err = task.CheckBody(d.text)
	}
	if err != nil {
		d.text, d.fault = "", reason(err)
	}
	return d
}

// plain is a document's text without markup, as the corpus extracts it.
func plain(ctx context.Context, name string, raw []byte) (string, error) {
	extracted, err := extract.Extract(ctx, bytes.NewReader(raw), extract.Hint{Name: name})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, section := range extracted.Sections {
		if section.Name != "" {
			text.WriteString(section.Name + ".\n\n")
		}
		text.WriteString(section.Text + "\n\n")
	}
	return text.String(), nil
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// reason leaves out the path, which is named already.
func reason(err error) string {
	if path, is := errors.AsType[*os.PathError](err); is {
		return path.Err.Error()
	}
	return err.Error()
}
