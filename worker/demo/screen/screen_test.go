package screen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/demo/screen"
)

func TestColumnsAreAlignedByLettersNotBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen.New(&out, nil)
	s.Table([][]screen.Cell{
		{{Text: "ä", Style: screen.Good}, {Text: "1", Right: true}, {Text: "short"}},
		{{Text: "long", Style: screen.Bad}, {Text: "100", Right: true}},
	})
	require.Equal(t, "  ä       1  short\n  long  100\n", out.String())
}

func TestAPipeGetsNoColoursAndNoMovingLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := screen.New(&out, nil)
	s.Section("Work")
	s.Progress(1, 2, "waiting")
	s.Line("%d done", 2)
	s.Done()
	require.Equal(t, "\nWork\n  2 done\n", out.String())
}

func TestAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	s := screen.New(file, nil)
	require.Equal(t, "x", s.Paint(screen.Bad, "x"))
	require.NoError(t, file.Close())
}
