package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/kesita/platform/worker/corpus/refusal"
)

// Buckets is the one place that says which bucket drivers are compiled in. A cloud's driver is one line more, for
// azblob: mux.RegisterBucket(azureblob.Scheme, &azureblob.URLOpener{...}).
func Buckets() *blob.URLMux {
	mux := new(blob.URLMux)
	mux.RegisterBucket(memblob.Scheme, &memblob.URLOpener{})
	return mux
}

// bucket opens the bucket of a URL. Driver options come from the base only, never from a source.
func (o *Opener) bucket(ctx context.Context, at *url.URL) (*blob.Bucket, string, error) {
	open := &url.URL{Scheme: at.Scheme, Host: at.Host}
	if o.base != nil {
		open.RawQuery = o.base.RawQuery
	}
	bucket, err := o.config.Buckets.OpenBucketURL(ctx, open)
	return bucket, strings.Trim(at.Path, "/"), err
}

// listBucket returns keys. The source is one object when there is one of that key, else everything below it.
func (o *Opener) listBucket(ctx context.Context, at *url.URL) ([]string, error) {
	bucket, key, err := o.bucket(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bucket.Close() }()
	prefix := ""
	if key != "" {
		single, err := bucket.Exists(ctx, key)
		if err != nil || single {
			return []string{key}, err
		}
		prefix = key + "/"
	}
	var names []string
	for list := bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		object, err := list.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) && len(names) == 0 && key != "":
			return nil, fmt.Errorf("%w: neither an object nor a folder", refusal.Missing)
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, err
		case strings.HasPrefix(path.Base(object.Key), ".") || strings.HasSuffix(object.Key, "/"):
			continue
		case len(names) == o.config.MaxItems:
			return nil, fmt.Errorf("%w: more than %d", refusal.TooMany, o.config.MaxItems)
		}
		names = append(names, object.Key)
	}
}

func (o *Opener) openBucket(ctx context.Context, at *url.URL) (document, error) {
	bucket, key, err := o.bucket(ctx, at)
	if err != nil {
		return document{}, err
	}
	reader, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		_ = bucket.Close()
		return document{}, err
	}
	return document{body: object{reader, bucket}, size: reader.Size(), mediaType: reader.ContentType()}, nil
}

// object is an open object that closes its bucket with it.
type object struct {
	*blob.Reader
	bucket *blob.Bucket
}

func (o object) Close() error { return errors.Join(o.Reader.Close(), o.bucket.Close()) }
