package guard_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/test/fixture"
)

// F5: the business pool leads where the registry is, or there is none.
func TestSameEndpoint(t *testing.T) {
	t.Parallel()
	const full = "?sslmode=verify-full"
	cases := []struct {
		name            string
		registry, other string
		same            bool
	}{
		{"the same", "postgres://u:p@db.example:5432/shop" + full, "postgres://u:p@db.example:5432/shop" + full, true},
		{"other credentials", "postgres://u:p@db.example/shop" + full, "postgres://v:q@db.example:5432/shop" + full, true},
		{"as keywords", "postgres://u:p@db.example/shop" + full, "host=db.example port=5432 dbname=shop user=v sslmode=verify-full", true},
		{"other limits", "postgres://u@db.example/shop" + full, "postgres://u@db.example/shop" + full + "&statement_timeout=1&connect_timeout=3", true},
		{"other encryption", "postgres://u@127.0.0.1/shop?sslmode=disable", "postgres://u@127.0.0.1/shop?sslmode=prefer", true},
		{"other database", "postgres://u@db.example/shop" + full, "postgres://u@db.example/store" + full, false},
		{"no database, so the user's name", "postgres://u@db.example/shop" + full, "postgres://u@db.example" + full, false},
		{"other host", "postgres://u@db.example/shop" + full, "postgres://u@db2.example/shop" + full, false},
		{"other port", "postgres://u@db.example/shop" + full, "postgres://u@db.example:5433/shop" + full, false},
		{"name and number of one host", "postgres://u@localhost/shop?sslmode=disable", "postgres://u@127.0.0.1/shop?sslmode=disable", false},
		{"two names of one host", "postgres://u@db.example/shop" + full, "postgres://u@db/shop" + full, false},
		{"two numbers of one host", "postgres://u@127.0.0.1/shop?sslmode=disable", "postgres://u@[::1]/shop?sslmode=disable", false},
		{"socket and port", "postgres:///shop?host=/run/pg&user=u", "postgres://u@127.0.0.1/shop?sslmode=disable", false},
		{"the same socket", "postgres:///shop?host=/run/pg&user=u", "host=/run/pg dbname=shop user=v", true},
		{"other socket", "postgres:///shop?host=/run/pg&user=u", "postgres:///shop?host=/tmp&user=u", false},
		{"other socket port", "postgres:///shop?host=/run/pg&user=u", "postgres:///shop?host=/run/pg&user=u&port=5433", false},
		{"the same fail-over list", "postgres://u@a,b/shop" + full, "postgres://v@a:5432,b:5432/shop" + full, true},
		{"fail-over list in another order", "postgres://u@a,b/shop" + full, "postgres://u@b,a/shop" + full, false},
		{"one more fail-over host", "postgres://u@a/shop" + full, "postgres://u@a,b/shop" + full, false},
		{"one fail-over host less", "postgres://u@a,b/shop" + full, "postgres://u@a/shop" + full, false},
		{"other fail-over port", "postgres://u@a,b/shop" + full, "postgres://u@a,b:5433/shop" + full, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			there := guard.SameEndpoint(parse(t, c.registry), parse(t, c.other))
			back := guard.SameEndpoint(parse(t, c.other), parse(t, c.registry))
			if c.same {
				require.NoError(t, there)
				require.NoError(t, back)
				return
			}
			require.ErrorIs(t, there, guard.ErrEndpoint)
			require.ErrorIs(t, back, guard.ErrEndpoint)
			require.NotContains(t, there.Error(), ":p@")
		})
	}
}

// K13: over a network, only to a server that proved who it is.
func TestCheckTransport(t *testing.T) {
	t.Parallel()
	cases := []struct {
		url     string
		allowed bool
	}{
		{"postgres://u@db.example/shop?sslmode=verify-full", true},
		{"postgres://u@10.0.0.1/shop?sslmode=verify-full", true},
		{"postgres://u@a,b/shop?sslmode=verify-full", true},
		{"postgres://u@db.example/shop?sslmode=verify-ca", false},
		{"postgres://u@db.example/shop?sslmode=require", false},
		{"postgres://u@db.example/shop?sslmode=prefer", false},
		{"postgres://u@db.example/shop?sslmode=allow", false},
		{"postgres://u@db.example/shop?sslmode=disable", false},
		{"postgres://u@db.example/shop", false},
		{"postgres://u@127.0.0.1,db.example/shop?sslmode=disable", false},
		{"postgres://u@localhost,db.example/shop?sslmode=prefer", false},
		{"postgres://u@localhost.example/shop?sslmode=disable", false},
		{"postgres://u@10.0.0.1/shop?sslmode=disable", false},
		{"postgres://u@0.0.0.0/shop?sslmode=disable", false},
		{"postgres://u@localhost/shop?sslmode=disable", true},
		{"postgres://u@127.0.0.1/shop?sslmode=disable", true},
		{"postgres://u@127.8.9.10/shop?sslmode=prefer", true},
		{"postgres://u@[::1]/shop?sslmode=disable", true},
		{"postgres:///shop?host=/run/pg&user=u&sslmode=disable", true},
		{"host=@kesita dbname=shop user=u", true},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.url, "/", "_"), func(t *testing.T) {
			t.Parallel()
			err := guard.CheckTransport(parse(t, c.url))
			if c.allowed {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, guard.ErrPlaintext)
		})
	}
}

// F5, K13: a pool is refused before its first connection, with the same sentinels.
func TestOpenRefusesAForeignEndpointBeforeItConnects(t *testing.T) {
	t.Parallel()
	registry := parse(t, "postgres://u@127.0.0.1:1/shop?sslmode=disable")
	id := guard.Identity{ExecutorID: uuid.New(), Timing: fixture.Timing()}
	for url, want := range map[string]error{
		"postgres://u@127.0.0.1:2/shop?sslmode=disable":       guard.ErrEndpoint,
		"postgres://u@localhost:1/shop?sslmode=disable":       guard.ErrEndpoint,
		"postgres://u@127.0.0.1:1/other?sslmode=disable":      guard.ErrEndpoint,
		"postgres://u@db.example:1/shop?sslmode=disable":      guard.ErrPlaintext,
		"postgres://u@db.example:1/shop?sslmode=verify-full":  guard.ErrEndpoint,
		"postgres://u@127.0.0.1:1,[::1]:1/shop?sslmode=allow": guard.ErrEndpoint,
	} {
		_, err := guard.Open(t.Context(), registry, id, url, 1)
		require.ErrorIs(t, err, want, url)
	}
	_, err := guard.Open(t.Context(), registry, id, "postgres://u:secret@127.0.0.1:x/shop", 1)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}
