package texts_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/demo/texts"
)

func TestTheTextsThatShipAreReadableAndOfAllThreeKinds(t *testing.T) {
	t.Parallel()
	library, err := texts.Ship(t.TempDir())
	require.NoError(t, err)
	require.Len(t, library.Readable(), len(library.Documents))
	require.GreaterOrEqual(t, len(library.Documents), 10)
	kinds := map[string]int{}
	for _, d := range library.Documents {
		kinds[filepath.Ext(d.Name)]++
		text, err := os.ReadFile(d.Path)
		require.NoError(t, err)
		require.Len(t, text, int(d.Bytes))
		require.True(t, utf8.Valid(text), d.Name)
	}
	require.Len(t, kinds, 3)
}

func TestAFolderThatGivesNothingSaysWhy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	empty := filepath.Join(folder, "empty")
	hidden := filepath.Join(folder, "hidden")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(empty, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(hidden, ".git"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(hidden, ".git", "config"), nil, 0o600))
	for path, want := range map[string]error{
		filepath.Join(folder, "missing"): texts.ErrFolder, file: texts.ErrFolder, empty: texts.ErrEmpty, hidden: texts.ErrEmpty,
	} {
		_, err := texts.Open(path)
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

func TestAFileThatCannotBeReadIsAFaultAndTheOthersStay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "deep", "er"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "deep", "er", "good.md"), []byte("# good"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join("deep", "er", "good.md"), filepath.Join(folder, "link.md")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(folder, "broken.md")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))

	library, err := texts.Open(folder)
	require.NoError(t, err)
	faults := map[string]string{}
	for _, d := range library.Documents {
		faults[d.Name] = d.Fault
	}
	require.Equal(t, map[string]string{
		"broken.md": "no such file or directory", "deep/er/good.md": "", "link.md": "", "pipe": "not a file",
	}, faults)
	require.Len(t, library.Readable(), 2)
}

func TestMoreDocumentsThanADemoTakesAreCounted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range texts.MaxDocuments + 3 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, strconv.Itoa(i)+".txt"), []byte("x"), 0o600))
	}
	library, err := texts.Open(folder)
	require.NoError(t, err)
	require.Len(t, library.Documents, texts.MaxDocuments)
	require.Equal(t, 3, library.LeftOut)
}
