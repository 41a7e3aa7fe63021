package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/memblob"

	"github.com/kesita/platform/coordination/outbound"
	"github.com/kesita/platform/worker/corpus/refusal"
)

// Buckets is the one place that says which bucket drivers are compiled in: azblob (account and credentials from the
// AZURE_STORAGE_ variables or the workload's identity) and mem. Another cloud's driver is one line more.
func Buckets() *blob.URLMux {
	mux := new(blob.URLMux)
	mux.RegisterBucket(azureblob.Scheme, &azureblob.URLOpener{
		MakeClient: azureblob.NewDefaultClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions(),
	})
	mux.RegisterBucket(memblob.Scheme, &memblob.URLOpener{})
	return mux
}

// confirmed is a bucket that has the lease confirmed before each call that leaves the process (F7). It is the only way to
// a bucket: nothing else here touches one.
type confirmed struct {
	bucket  *blob.Bucket
	confirm outbound.Confirm
}

// page is how many objects one call lists.
const page = 1000

func (c confirmed) exists(ctx context.Context, key string) (bool, error) {
	if err := confirm(ctx, c.confirm); err != nil {
		return false, err
	}
	return c.bucket.Exists(ctx, key)
}

// list calls each with every object below prefix until it returns an error.
func (c confirmed) list(ctx context.Context, prefix string, each func(*blob.ListObject) error) error {
	for token := blob.FirstPageToken; len(token) > 0; {
		if err := confirm(ctx, c.confirm); err != nil {
			return err
		}
		objects, next, err := c.bucket.ListPage(ctx, token, page, &blob.ListOptions{Prefix: prefix})
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := each(object); err != nil {
				return err
			}
		}
		token = next
	}
	return nil
}

// read opens an object. What follows is the answer to this one call.
func (c confirmed) read(ctx context.Context, key string) (*blob.Reader, error) {
	if err := confirm(ctx, c.confirm); err != nil {
		return nil, err
	}
	return c.bucket.NewReader(ctx, key, nil)
}

func confirm(ctx context.Context, ask outbound.Confirm) error {
	if err := ask(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	return nil
}

func (c confirmed) close() error { return c.bucket.Close() }

// bucket opens the bucket of a URL. Driver options come from the base only, never from a source. A driver may look for
// its credentials, so opening is a call too.
func (o *Opener) bucket(ctx context.Context, at *url.URL) (confirmed, string, error) {
	open := &url.URL{Scheme: at.Scheme, Host: at.Host}
	if o.base != nil {
		open.RawQuery = o.base.RawQuery
	}
	if err := confirm(ctx, o.config.Confirm); err != nil {
		return confirmed{}, "", err
	}
	bucket, err := o.config.Buckets.OpenBucketURL(ctx, open)
	return confirmed{bucket, o.config.Confirm}, strings.Trim(at.Path, "/"), err
}

// listBucket returns keys. The source is one object when there is one of that key, else everything below it.
func (o *Opener) listBucket(ctx context.Context, at *url.URL) ([]string, error) {
	bucket, key, err := o.bucket(ctx, at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bucket.close() }()
	prefix := ""
	if key != "" {
		single, err := bucket.exists(ctx, key)
		if err != nil || single {
			return []string{key}, err
		}
		prefix = key + "/"
	}
	var names []string
	err = bucket.list(ctx, prefix, func(object *blob.ListObject) error {
		switch {
		case strings.HasPrefix(path.Base(object.Key), ".") || strings.HasSuffix(object.Key, "/"):
			return nil
		case len(names) == o.config.MaxItems:
			return fmt.Errorf("%w: more than %d", refusal.TooMany, o.config.MaxItems)
		}
		names = append(names, object.Key)
		return nil
	})
	if err == nil && len(names) == 0 && key != "" {
		return nil, fmt.Errorf("%w: neither an object nor a folder", refusal.Missing)
	}
	return names, err
}

func (o *Opener) openBucket(ctx context.Context, at *url.URL) (document, error) {
	bucket, key, err := o.bucket(ctx, at)
	if err != nil {
		return document{}, err
	}
	reader, err := bucket.read(ctx, key)
	if err != nil {
		_ = bucket.close()
		return document{}, err
	}
	return document{body: object{reader, bucket}, size: reader.Size(), mediaType: reader.ContentType()}, nil
}

// object is an open object that closes its bucket with it.
type object struct {
	*blob.Reader
	bucket confirmed
}

func (o object) Close() error { return errors.Join(o.Reader.Close(), o.bucket.close()) }
