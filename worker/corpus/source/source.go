package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gocloud.dev/blob"

	"github.com/kesita/platform/coordination/outbound"
	"github.com/kesita/platform/worker/corpus/refusal"
)

const (
	// DefaultLimit is the largest document in bytes, unless configured otherwise.
	DefaultLimit = 64 << 20
	// DefaultMaxItems is the largest number of documents in one source, unless configured otherwise.
	DefaultMaxItems = 10_000
	// MaxName is the longest name of a source and the longest URI of a document, in bytes.
	MaxName = 2000
)

// Config says what may be read and how. The zero value reads local files only.
type Config struct {
	// Base confines everything that is not HTTP: an absolute path, a file URL or a bucket URL (with the driver's options
	// as query). A source without a scheme is then relative to it. Empty: any local path and any compiled-in bucket.
	Base string
	// Limit is the largest document in bytes. 0 means DefaultLimit.
	Limit int64
	// MaxItems is the largest number of documents in one source. 0 means DefaultMaxItems.
	MaxItems int
	// HTTP fetches web sources; its timeouts and redirects are its owner's. nil: web sources are refused.
	HTTP *http.Client
	// Buckets opens bucket URLs. nil means Buckets().
	Buckets *blob.URLMux
	// Confirm is called before each call to a bucket (F7); its error is passed on as it is. nil: no check. HTTP brings its
	// own.
	Confirm outbound.Confirm
}

// Item is one document of a source.
type Item struct {
	// URI opens the document, also in another process: file:///..., a bucket URL with key, or an HTTP URL.
	URI string
}

// Stream is an open document. Reading past the limit gives refusal.TooLarge. Close it.
type Stream struct {
	io.ReadCloser
	// Name is the last part of the document's path, for people and for its extension.
	Name string
	// MediaType is what the server said about the content; empty when nobody did.
	MediaType string
}

// Opener lists and opens sources. Make it with New. It is safe for concurrent use.
type Opener struct {
	config Config
	base   *url.URL // nil without Config.Base
}

// New returns an opener, or an error that says what is wrong with the configuration. It reads nothing.
func New(config Config) (*Opener, error) {
	if config.Limit < 0 || config.MaxItems < 0 {
		return nil, errors.New("source limits must not be negative")
	}
	if config.Limit == 0 {
		config.Limit = DefaultLimit
	}
	if config.MaxItems == 0 {
		config.MaxItems = DefaultMaxItems
	}
	if config.Buckets == nil {
		config.Buckets = Buckets()
	}
	if config.Confirm == nil {
		config.Confirm = func(context.Context) error { return nil }
	}
	opener := &Opener{config: config}
	if config.Base == "" {
		return opener, nil
	}
	base, err := parse(config.Base)
	if err != nil {
		return nil, fmt.Errorf("base of sources: %w", err)
	}
	switch {
	case base.Scheme == "file" && !path.IsAbs(base.Path), isWeb(base):
		return nil, errors.New("base of sources: want an absolute path, a file URL or a bucket URL")
	case base.Scheme != "file" && !config.Buckets.ValidBucketScheme(base.Scheme):
		return nil, fmt.Errorf("base of sources: %s buckets are not compiled in", base.Scheme)
	}
	opener.base = base
	return opener, nil
}

// Check refuses a name of a source that no configuration would accept.
func Check(source string) error {
	_, err := parse(source)
	return err
}

// Canonical is the one name of a source: an absolute URL. Errors: refusals.
func (o *Opener) Canonical(source string) (string, error) {
	at, err := o.resolve(source)
	if err != nil {
		return "", err
	}
	return at.String(), nil
}

// List returns the documents of a source by URI. Errors: refusals, a fence's refusal, ctx's error.
func (o *Opener) List(ctx context.Context, source string) ([]Item, error) {
	at, err := o.resolve(source)
	if err != nil {
		return nil, err
	}
	if isWeb(at) {
		return []Item{{URI: at.String()}}, nil
	}
	var names []string
	if at.Scheme == "file" {
		names, err = o.listFiles(ctx, at)
	} else {
		names, err = o.listBucket(ctx, at)
	}
	if err != nil {
		return nil, classify(ctx, at.Redacted(), err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no documents in %s", refusal.EmptySource, at)
	}
	items := make([]Item, 0, len(names))
	for _, name := range names {
		items = append(items, Item{URI: (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/" + name}).String()})
	}
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.URI, b.URI) })
	return items, nil
}

// Open opens the document that List named. Errors: as List.
func (o *Opener) Open(ctx context.Context, uri string) (*Stream, error) {
	at, err := o.resolve(uri)
	if err != nil {
		return nil, err
	}
	var opened document
	switch {
	case isWeb(at):
		opened, err = o.openWeb(ctx, at)
	case at.Scheme == "file":
		opened, err = o.openFile(at)
	default:
		opened, err = o.openBucket(ctx, at)
	}
	if err != nil {
		return nil, classify(ctx, uri, err)
	}
	if opened.size > o.config.Limit {
		_ = opened.body.Close()
		return nil, fmt.Errorf("%w: %s > %s", refusal.TooLarge, bytes(opened.size), bytes(o.config.Limit))
	}
	body := &limited{
		body: opened.body, limit: o.config.Limit, left: o.config.Limit,
		classify: func(err error) error { return classify(ctx, uri, err) },
	}
	return &Stream{ReadCloser: body, Name: path.Base(at.Path), MediaType: opened.mediaType}, nil
}

// document is an open document before its size was looked at.
type document struct {
	body      io.ReadCloser
	size      int64 // -1 when nobody said
	mediaType string
}

// resolve turns a user's name of a source into an absolute URL and refuses what may not be read.
func (o *Opener) resolve(source string) (*url.URL, error) {
	at, err := parse(source)
	if err != nil {
		return nil, err
	}
	if isWeb(at) {
		if o.config.HTTP == nil {
			return nil, fmt.Errorf("%w: web sources are switched off", refusal.Forbidden)
		}
		return at, nil
	}
	if at.RawQuery != "" {
		return nil, fmt.Errorf("%w: options in the URL of a source", refusal.Forbidden)
	}
	if !path.IsAbs(at.Path) {
		if o.base == nil {
			return nil, fmt.Errorf("%w: relative path, and no base is configured", refusal.UnknownSource)
		}
		at = &url.URL{Scheme: o.base.Scheme, Host: o.base.Host, Path: path.Join("/", o.base.Path, at.Path)}
	}
	if o.base != nil && !below(at, o.base) {
		return nil, fmt.Errorf("%w: it lies outside of the configured base", refusal.Forbidden)
	}
	if at.Scheme != "file" && !o.config.Buckets.ValidBucketScheme(at.Scheme) {
		return nil, fmt.Errorf("%w: %s", refusal.UnknownSource, at.Scheme)
	}
	return at, nil
}

// parse reads a path or a URL. The path of the result is clean; a plain path gets the scheme file.
func parse(source string) (*url.URL, error) {
	switch {
	case source == "", strings.ContainsRune(source, 0):
		return nil, fmt.Errorf("%w: empty name, or a NUL in it", refusal.UnknownSource)
	case len(source) > MaxName:
		return nil, fmt.Errorf("%w: more than %d bytes", refusal.NameTooLong, MaxName)
	}
	if !strings.Contains(source, "://") {
		return &url.URL{Scheme: "file", Path: path.Clean(filepath.ToSlash(source))}, nil
	}
	at, err := url.Parse(source)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: not a URL", refusal.UnknownSource) // the error would repeat what may be a secret
	case at.User != nil:
		return nil, fmt.Errorf("%w: credentials in the URL of a source", refusal.Forbidden)
	case at.Scheme == "file" && at.Host != "" && at.Host != "localhost":
		return nil, fmt.Errorf("%w: a file URL with a host", refusal.UnknownSource)
	case isWeb(at):
		at.Fragment = ""
		return at, nil
	case at.Scheme == "file":
		at.Host = ""
	}
	return &url.URL{Scheme: at.Scheme, Host: at.Host, Path: path.Join("/", at.Path), RawQuery: at.RawQuery}, nil
}

func isWeb(at *url.URL) bool { return at.Scheme == "http" || at.Scheme == "https" }

// below reports whether at is base or lies in it.
func below(at, base *url.URL) bool {
	root := strings.TrimSuffix(base.Path, "/")
	return at.Scheme == base.Scheme && at.Host == base.Host && (at.Path == root || strings.HasPrefix(at.Path, root+"/"))
}
