package screen_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kesita/platform/worker/demo/screen"
)

// terminal returns both ends of a pseudo terminal: what is written to the screen's end is read from the other.
func terminal(t *testing.T) (end, other *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = end.Close(), other.Close() })
	return end, other
}

// shown runs use on a terminal and returns what arrived there.
func shown(t *testing.T, environ []string, use func(*screen.Screen)) string {
	t.Helper()
	end, other := terminal(t)
	use(screen.New(end, environ))
	_, err := end.WriteString("END")
	require.NoError(t, err)
	var text strings.Builder
	buffer := make([]byte, 1024)
	for !strings.HasSuffix(text.String(), "END") {
		n, err := other.Read(buffer)
		require.NoError(t, err)
		text.Write(buffer[:n])
	}
	return text.String()
}

func TestATerminalGetsColoursAndALineThatMovesOutOfTheWay(t *testing.T) {
	t.Parallel()
	text := shown(t, []string{"TERM=xterm"}, func(s *screen.Screen) {
		s.Line("%s", s.Paint(screen.Good, "fine"))
		s.Progress(1, 2, "waiting")
		s.Line("news")
		s.Done()
	})
	require.Contains(t, text, "\x1b[32mfine\x1b[0m")
	require.Contains(t, text, " 1/2 ")
	require.Less(t, strings.Index(text, "news"), strings.LastIndex(text, " 1/2 "), "the line is drawn again below the news")
	require.True(t, strings.HasSuffix(text, "\r\x1b[2KEND"), "%q", text)
}

func TestColoursCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	for environ, coloured := range map[string]bool{"NO_COLOR=1": false, "NO_COLOR=": true, "TERM=dumb": false} {
		text := shown(t, []string{environ}, func(s *screen.Screen) { s.Line("%s", s.Paint(screen.Bad, "x")) })
		require.Equal(t, coloured, strings.Contains(text, "\x1b[1;31m"), environ)
	}
}
