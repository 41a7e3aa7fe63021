package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/corpus/refusal"
	"github.com/kesita/platform/worker/corpus/source"
)

func TestFiles(t *testing.T) {
	t.Parallel()

	t.Run("AFileAFileURLAndAFolderLeadToTheSameDocument", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{"a b.md": "text"})
		opener := open(t, source.Config{})
		want := []source.Item{{URI: "file://" + dir + "/a%20b.md"}}
		for _, name := range []string{dir, dir + "/", dir + "/a b.md", "file://" + dir, want[0].URI} {
			items, err := opener.List(t.Context(), name)
			require.NoError(t, err, name)
			require.Equal(t, want, items, name)
		}
		require.Equal(t, "text", read(t, opener, want[0].URI))
	})

	t.Run("AFolderIsListedDeepAndInOrderWithoutHiddenNames", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{"z.txt": "z", "sub/b.txt": "b", "sub-a.txt": "s", ".git/config": "no", ".hidden": "no", "sub/.x": "no"})
		items, err := open(t, source.Config{}).List(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, uris(dir, "sub-a.txt", "sub/b.txt", "z.txt"), items)
	})

	t.Run("ADocumentOfTwoHundredMegabytesIsRefusedBeforeAByteIsRead", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(folder(t, nil), "big.txt")
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		require.NoError(t, os.Truncate(name, 200<<20))
		_, err := open(t, source.Config{}).Open(t.Context(), name)
		require.ErrorIs(t, err, refusal.TooLarge)
		require.EqualError(t, err, "document too large: 200 MiB > 64 MiB")
		require.False(t, refusal.Heals(err))
	})

	t.Run("AFileThatGrowsWhileItIsReadStopsAtTheLimit", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(folder(t, map[string]string{"a.txt": "12345678"}), "a.txt")
		stream, err := open(t, source.Config{Limit: 8}).Open(t.Context(), name)
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.Close()) }()
		require.NoError(t, os.WriteFile(name, []byte("123456789"), 0o600))
		text, err := io.ReadAll(stream)
		require.ErrorIs(t, err, refusal.TooLarge)
		require.Len(t, text, 8)
	})

	t.Run("WhatIsNoDocumentIsRefusedWithItsReason", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{"real.txt": "x", "empty/.keep": ""})
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
		require.NoError(t, os.Symlink("empty", filepath.Join(dir, "loop")))
		opener := open(t, source.Config{})
		for name, want := range map[string]refusal.Code{
			"empty": refusal.EmptySource, "nothing": refusal.Missing, "real.txt/x": refusal.Unreadable,
		} {
			_, err := opener.List(t.Context(), dir+"/"+name)
			require.ErrorIs(t, err, want, name)
			require.False(t, refusal.Heals(err), name)
		}
		items, err := opener.List(t.Context(), dir)
		require.NoError(t, err)
		require.Equal(t, uris(dir, "loop", "pipe", "real.txt"), items, "what cannot be read is an item and not silence")
		for _, name := range []string{"pipe", "loop"} {
			_, err := opener.Open(t.Context(), dir+"/"+name)
			require.ErrorIs(t, err, refusal.Unsupported, name)
		}
	})

	t.Run("MoreDocumentsThanAllowedAreRefusedAsAWhole", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{"a": "", "b": "", "c": ""})
		_, err := open(t, source.Config{MaxItems: 2}).List(t.Context(), dir)
		require.ErrorIs(t, err, refusal.TooMany)
		_, err = open(t, source.Config{MaxItems: 3}).List(t.Context(), dir)
		require.NoError(t, err)
	})
}

func TestBase(t *testing.T) {
	t.Parallel()

	t.Run("NothingOutsideOfTheBaseIsReadNotEvenThroughALink", func(t *testing.T) {
		t.Parallel()
		dir := folder(t, map[string]string{"in/a.txt": "a", "in/sub/b.txt": "b", "secret.txt": "s", "inside/c.txt": "c"})
		require.NoError(t, os.Symlink("../secret.txt", filepath.Join(dir, "in", "out")))
		require.NoError(t, os.Symlink("../a.txt", filepath.Join(dir, "in", "sub", "near")))
		opener := open(t, source.Config{Base: "file://" + dir + "/in"})

		items, err := opener.List(t.Context(), ".")
		require.NoError(t, err)
		require.Equal(t, uris(dir+"/in", "a.txt", "out", "sub/b.txt", "sub/near"), items)
		require.Equal(t, "b", read(t, opener, "sub/b.txt"))
		require.Equal(t, "a", read(t, opener, "sub/near"), "a link that stays inside is fine")
		for _, name := range []string{dir + "/secret.txt", dir + "/inside", dir + "/in/../secret.txt", "in/../../secret.txt", dir + "/in/out", "mem://x/y"} {
			_, err := opener.Open(t.Context(), name)
			require.ErrorIs(t, err, refusal.Forbidden, name)
		}
	})

	t.Run("ABaseThatCannotBeIsAConfigurationError", func(t *testing.T) {
		t.Parallel()
		for _, base := range []string{"relative", "https://example.org/x", "s3://bucket", "file://host/x"} {
			_, err := source.New(source.Config{Base: base})
			require.ErrorContains(t, err, "base of sources", base)
		}
		_, err := source.New(source.Config{Limit: -1})
		require.ErrorContains(t, err, "negative")
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	opener := open(t, source.Config{})

	t.Run("ASourceThatNobodyKnowsOrThatCarriesSecretsIsRefusedAndNotRepeated", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]refusal.Code{
			"": refusal.UnknownSource, "relative/path": refusal.UnknownSource, "gopher://hush/x": refusal.UnknownSource,
			"/a\x00hush": refusal.UnknownSource, "file://hush/x": refusal.UnknownSource, "://hush%zz": refusal.UnknownSource,
			"mem://b/x?hush=1": refusal.Forbidden, "https://u:hush@example.org/": refusal.Forbidden, "file:///x?hush": refusal.Forbidden,
			"http://example.org/x": refusal.Forbidden, // no client
		} {
			_, err := opener.List(t.Context(), name)
			require.ErrorIs(t, err, want, name)
			if name != "gopher://hush/x" {
				require.NotContains(t, err.Error(), "hush", name)
			}
			require.False(t, refusal.Heals(err), name)
		}
	})
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	shelf := memblob.OpenBucket(nil)
	for _, key := range []string{"b.txt", "docs/a.md", "docs/sub/c.md", "docs/.x", "docs-2/d.md"} {
		require.NoError(t, shelf.WriteAll(t.Context(), key, []byte(key), nil))
	}
	opener := open(t, source.Config{Buckets: bucketOf("shelf", shelf), Limit: 12})

	t.Run("AKeyIsOneDocumentAPrefixIsAFolderAndNothingIsMissing", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string][]source.Item{
			"shelf://box":                  {{URI: "shelf://box/b.txt"}, {URI: "shelf://box/docs-2/d.md"}, {URI: "shelf://box/docs/a.md"}, {URI: "shelf://box/docs/sub/c.md"}},
			"shelf://box/docs":             {{URI: "shelf://box/docs/a.md"}, {URI: "shelf://box/docs/sub/c.md"}},
			"shelf://box/docs/":            {{URI: "shelf://box/docs/a.md"}, {URI: "shelf://box/docs/sub/c.md"}},
			"shelf://box/docs/sub/c.md":    {{URI: "shelf://box/docs/sub/c.md"}},
			"shelf://box/x/../docs-2/d.md": {{URI: "shelf://box/docs-2/d.md"}},
		} {
			items, err := opener.List(t.Context(), name)
			require.NoError(t, err, name)
			require.Equal(t, want, items, name)
		}
		_, err := opener.List(t.Context(), "shelf://box/nothing")
		require.ErrorIs(t, err, refusal.Missing)
		_, err = opener.Open(t.Context(), "shelf://box/nothing")
		require.ErrorIs(t, err, refusal.Missing)
	})

	t.Run("AnObjectIsAStreamWithTheLimit", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "docs/a.md", read(t, opener, "shelf://box/docs/a.md"))
		_, err := opener.Open(t.Context(), "shelf://box/docs/sub/c.md")
		require.ErrorIs(t, err, refusal.TooLarge)
	})

	t.Run("AnEmptyBucketIsAnEmptySource", func(t *testing.T) {
		t.Parallel()
		_, err := open(t, source.Config{}).List(t.Context(), "mem://")
		require.ErrorIs(t, err, refusal.EmptySource)
	})
}

// F7: each call to a bucket asks first: to open it, to look, for each page of a listing, to read. A refusal stops exactly
// there, and nothing was asked of the bucket.
func TestEachCallToABucketConfirmsTheLeaseFirst(t *testing.T) {
	t.Parallel()
	const objects = 2500 // three pages
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	for i := range objects {
		require.NoError(t, bucket.WriteAll(t.Context(), fmt.Sprintf("docs/%04d", i), []byte("x"), nil))
	}
	lost := errors.New("lease lost")
	asked, allowed := 0, 0
	opener := open(t, source.Config{Buckets: bucketOf("shelf", bucket), Confirm: func(context.Context) error {
		if asked++; asked > allowed {
			return lost
		}
		return nil
	}})
	for allowed = range 5 {
		asked = 0
		_, err := opener.List(t.Context(), "shelf://box/docs")
		require.ErrorIs(t, err, lost)
		require.Equal(t, allowed+1, asked)
	}
	asked, allowed = 0, 5
	items, err := opener.List(t.Context(), "shelf://box/docs")
	require.NoError(t, err)
	require.Len(t, items, objects)
	require.Equal(t, allowed, asked, "open, exists, three pages")
	for allowed = range 2 {
		asked = 0
		_, err := opener.Open(t.Context(), items[0].URI)
		require.ErrorIs(t, err, lost)
		require.Equal(t, allowed+1, asked)
	}
	asked, allowed = 0, 2
	require.Equal(t, "x", read(t, opener, items[0].URI))
}

func TestTheEndOfTheContextIsNoRefusal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, source.Config{}).List(ctx, folder(t, map[string]string{"a": ""}))
	require.ErrorIs(t, err, context.Canceled)
	_, refused := refusal.Of(err)
	require.False(t, refused)
	require.False(t, fault.Infrastructure(err))
}

// bucketOf opens one bucket under a scheme, however often it is asked.
func bucketOf(scheme string, bucket *blob.Bucket) *blob.URLMux {
	mux := new(blob.URLMux)
	mux.RegisterBucket(scheme, shared{bucket})
	return mux
}

type shared struct{ bucket *blob.Bucket }

func (s shared) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return blob.PrefixedBucket(s.bucket, ""), nil
}

func open(t *testing.T, config source.Config) *source.Opener {
	t.Helper()
	opener, err := source.New(config)
	require.NoError(t, err)
	return opener
}

func read(t *testing.T, opener *source.Opener, uri string) string {
	t.Helper()
	stream, err := opener.Open(t.Context(), uri)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	text, err := io.ReadAll(stream)
	require.NoError(t, err)
	return string(text)
}

// folder makes a directory with these files and returns its real path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir
}

func uris(dir string, names ...string) []source.Item {
	items := make([]source.Item, 0, len(names))
	for _, name := range names {
		items = append(items, source.Item{URI: "file://" + strings.TrimSuffix(dir, "/") + "/" + name})
	}
	return items
}
