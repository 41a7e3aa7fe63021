package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/kesita/platform/worker/corpus/refusal"
)

// tree is the part of the file system that may be read, and its place in it.
type tree struct {
	io.Closer
	files fs.FS  // a field, not embedded: embedding hides its own Stat, and then fs.Stat opens what it looks at
	root  string // absolute, without the slash at its end
}

// openTree confines local reading to the base: os.Root also refuses links that lead out of it.
func (o *Opener) openTree() (tree, error) {
	if o.base == nil {
		return tree{Closer: io.NopCloser(nil), files: os.DirFS("/")}, nil
	}
	root, err := os.OpenRoot(o.base.Path)
	if err != nil {
		return tree{}, err
	}
	return tree{Closer: root, files: root.FS(), root: strings.TrimSuffix(o.base.Path, "/")}, nil
}

// name is the io/fs name of an absolute path.
func (t tree) name(absolute string) string {
	if name := strings.Trim(strings.TrimPrefix(absolute, t.root), "/"); name != "" {
		return name
	}
	return "."
}

// listFiles returns absolute paths without the leading slash. What cannot be read is listed: opening it says why.
func (o *Opener) listFiles(ctx context.Context, at *url.URL) ([]string, error) {
	tree, err := o.openTree()
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Close() }()
	start := tree.name(at.Path)
	if _, err := fs.Stat(tree.files, start); err != nil {
		return nil, err
	}
	var names []string
	err = fs.WalkDir(tree.files, start, func(name string, entry fs.DirEntry, fault error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault != nil && name == start:
			return fault
		case name != start && strings.HasPrefix(path.Base(name), "."):
			if entry.IsDir() && fault == nil {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() && fault == nil:
			return nil
		case len(names) == o.config.MaxItems:
			return fmt.Errorf("%w: more than %d", refusal.TooMany, o.config.MaxItems)
		}
		names = append(names, strings.TrimPrefix(path.Join(tree.root, name), "/"))
		return nil
	})
	return names, err
}

func (o *Opener) openFile(at *url.URL) (document, error) {
	tree, err := o.openTree()
	if err != nil {
		return document{}, err
	}
	defer func() { _ = tree.Close() }()
	name := tree.name(at.Path)
	// Looked at before it is opened: to open a pipe that nobody writes to never returns.
	info, err := fs.Stat(tree.files, name)
	if err != nil {
		return document{}, err
	}
	file, err := openRegular(tree.files, name, info)
	if err != nil {
		return document{}, err
	}
	return document{body: file, size: info.Size()}, nil
}

func openRegular(files fs.FS, name string, info fs.FileInfo) (fs.File, error) {
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: not a regular file", refusal.Unsupported)
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		_ = file.Close()
		return nil, fmt.Errorf("%w: a folder, or a link to one", refusal.Unsupported)
	}
	return file, nil
}
