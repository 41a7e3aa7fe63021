package source

import (
	"errors"
	"fmt"
	"io"

	"github.com/kesita/platform/worker/corpus/refusal"
)

// limited reads at most limit bytes; where one more would come it gives refusal.TooLarge. It is what stands between
// memory and a server that lies about the length, or compresses.
type limited struct {
	body     io.ReadCloser
	limit    int64
	left     int64
	classify func(error) error
}

// Read implements io.Reader. Its errors are io.EOF and those of Opener.Open.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.body.Read(p)
	if int64(n) > l.left {
		return int(l.left), fmt.Errorf("%w: more than %s", refusal.TooLarge, bytes(l.limit))
	}
	l.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = l.classify(err)
	}
	return n, err
}

// Close implements io.Closer.
func (l *limited) Close() error { return l.body.Close() }

// bytes writes a number of bytes for people, in the largest binary unit that is not below one.
func bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if value == float64(int64(value)) || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
