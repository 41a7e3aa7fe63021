package settings_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/worker/settings"
)

const page = "../../docs/configuration.md"

// The page's table is written by `go generate ./worker/settings`.
//
//go:generate env UPDATE_PAGES=1 go test -run TestTheConfigurationPageIsCurrent .
func TestTheConfigurationPageIsCurrent(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- settings: begin -->\n", "<!-- settings: end -->"
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(content), begin)
	require.True(t, found, "%s has no line %s", page, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no line %s", page, end)
	current := before + begin + settings.Settings{}.Table() + end + after
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(page, []byte(current), 0o644))
		return
	}
	require.Equal(t, current, string(content), "stale: run go generate ./worker/settings")
}

func TestEveryVariableIsDescribed(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[settings.Settings]().Fields() {
		t.Run(field.Name, func(t *testing.T) {
			t.Parallel()
			require.Regexp(t, `^[A-Z]+(_[A-Z]+)*$`, field.Tag.Get("env"))
			require.NotEmpty(t, field.Tag.Get("about"))
			require.Contains(t, []string{"all", "product", "corpus"}, field.Tag.Get("services"))
			if strings.HasSuffix(field.Tag.Get("env"), "_URL") {
				require.Equal(t, reflect.TypeFor[settings.Secret](), field.Type, "a URL can hold a password")
			}
			if field.Tag.Get("accepts") != "" {
				return
			}
			for _, tag := range []string{"min", "max", "envDefault"} {
				if field.Type == reflect.TypeFor[time.Duration]() {
					_, err := time.ParseDuration(field.Tag.Get(tag))
					require.NoError(t, err, tag)
					continue
				}
				require.Regexp(t, `^[0-9]+$`, field.Tag.Get(tag), tag)
			}
		})
	}
}
