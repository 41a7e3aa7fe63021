// Package texts owns the documents of a demo: those that ship with it, or the files of a folder that the user named.
//
// The folder is authoritative; it is listed once and never written to. The texts that ship are in the public domain:
// stories by Arthur Conan Doyle (1892), parts of Isaac Newton's Opticks (1730), and a speech of Abraham Lincoln (1863).
// The package knows no service. Its answer to failure: a folder that gives no document at all is an error; a
// single file that cannot be read is a document with a fault, so that the others go on.
package texts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed *.txt *.md *.html
var shipped embed.FS

// Why a folder cannot be used. Match with errors.Is.
var (
	ErrFolder = errors.New("DOCS is not a folder that can be read")
	ErrEmpty  = errors.New("DOCS has no documents")
)

// MaxDocuments bounds a demo: more files than this are left out, and counted.
const MaxDocuments = 200

// Document is one file.
type Document struct {
	// Name is its path below the folder.
	Name string
	// Path is absolute.
	Path  string
	Bytes int64
	// Fault says why it cannot be opened; empty for a document that can.
	Fault string
}

// Library is the documents of one demo.
type Library struct {
	// Folder is absolute.
	Folder    string
	Documents []Document
	// LeftOut counts files beyond MaxDocuments.
	LeftOut int
}

// Ship writes the texts that ship into folder, which must exist, and lists them.
func Ship(folder string) (Library, error) {
	names, err := fs.Glob(shipped, "*")
	if err != nil {
		return Library{}, fmt.Errorf("list shipped texts: %w", err)
	}
	for _, name := range names {
		text, err := shipped.ReadFile(name)
		if err != nil {
			return Library{}, fmt.Errorf("read shipped text: %w", err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return Library{}, fmt.Errorf("write shipped text: %w", err)
		}
	}
	return Open(folder)
}

// Open lists the files below folder, by name. Names that begin with a dot are left out; links to files are followed,
// links to folders are not. Errors match ErrFolder or ErrEmpty and name the folder.
func Open(folder string) (Library, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return Library{}, fmt.Errorf("%w: %s: %w", ErrFolder, folder, err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Library{}, fmt.Errorf("%w: %s: %w", ErrFolder, folder, reason(err))
	case !info.IsDir():
		return Library{}, fmt.Errorf("%w: %s is a file", ErrFolder, folder)
	}
	if _, err := os.ReadDir(path); err != nil {
		return Library{}, fmt.Errorf("%w: %s: %w", ErrFolder, folder, reason(err))
	}
	library := Library{Folder: path}
	if err := fs.WalkDir(os.DirFS(path), ".", library.visit); err != nil {
		return Library{}, fmt.Errorf("%w: %s: %w", ErrFolder, folder, reason(err))
	}
	if len(library.Documents) == 0 {
		return Library{}, fmt.Errorf("%w: %s", ErrEmpty, folder)
	}
	return library, nil
}

func (l *Library) visit(name string, entry fs.DirEntry, err error) error {
	if name == "." {
		return err
	}
	if strings.HasPrefix(entry.Name(), ".") {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	switch {
	case err != nil:
		l.add(Document{Name: name, Path: filepath.Join(l.Folder, name), Fault: reason(err).Error()})
		return fs.SkipDir
	case entry.IsDir():
		return nil
	}
	l.add(l.inspect(name))
	return nil
}

// inspect follows a link, and opens the file once: who may not read it learns that now.
func (l *Library) inspect(name string) Document {
	d := Document{Name: name, Path: filepath.Join(l.Folder, name)}
	info, err := os.Stat(d.Path)
	switch {
	case err != nil:
		d.Fault = reason(err).Error()
	case !info.Mode().IsRegular():
		d.Fault = "not a file"
	default:
		d.Bytes = info.Size()
		file, err := os.Open(d.Path)
		if err != nil {
			d.Fault = reason(err).Error()
			break
		}
		_ = file.Close() // only read
	}
	return d
}

func (l *Library) add(d Document) {
	if len(l.Documents) == MaxDocuments {
		l.LeftOut++
		return
	}
	l.Documents = append(l.Documents, d)
}

// Readable are the documents without a fault.
func (l *Library) Readable() []Document {
	return slices.DeleteFunc(slices.Clone(l.Documents), func(d Document) bool { return d.Fault != "" })
}

// reason drops the path from an error, which the caller names better.
func reason(err error) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return path.Err
	}
	return err
}
