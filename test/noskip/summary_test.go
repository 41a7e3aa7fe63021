package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"pass","Package":"p","Elapsed":0.2}
{"Action":"skip","Package":"without/tests","Elapsed":0}
`

func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, log, said string
		code            int
	}{
		{"PassesWhenEveryTestRan", passing, "1 passed, 0 failed, 0 skipped\n", 0},
		{
			"FailsAndNamesASkippedTest", passing + `{"Action":"skip","Package":"p","Test":"TestB/c"}`,
			"1 passed, 0 failed, 1 skipped\nskipped: p.TestB/c\n", 1,
		},
		{"LeavesFailedTestsToTheRunner", passing + `{"Action":"fail","Package":"p","Test":"TestB"}`, "1 passed, 1 failed, 0 skipped\n", 0},
		{"FailsWhenNoTestRan", `{"Action":"skip","Package":"p"}`, "0 passed, 0 failed, 0 skipped\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log.json")
			require.NoError(t, os.WriteFile(path, []byte(c.log), 0o600))
			var said strings.Builder
			require.Equal(t, c.code, run([]string{path}, &said))
			require.Equal(t, c.said, said.String())
		})
	}

	t.Run("FailsForALogThatIsCutOff", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "log.json")
		require.NoError(t, os.WriteFile(path, []byte(passing+`{"Action":"pa`), 0o600))
		var said strings.Builder
		require.Equal(t, 1, run([]string{path}, &said))
		require.Contains(t, said.String(), "unexpected EOF")
	})

	t.Run("FailsForALogThatIsNotThere", func(t *testing.T) {
		t.Parallel()
		var said strings.Builder
		require.Equal(t, 1, run([]string{filepath.Join(t.TempDir(), "none.json")}, &said))
	})
}
