package ledger_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/worker/localpg/localpgtest"
	"github.com/kesita/platform/worker/product/ledger"
)

func TestMain(m *testing.M) {
	os.Exit(localpgtest.Main(m, func() error { return goleak.Find() }))
}

func settings(url string) ledger.Settings {
	return ledger.Settings{URL: url, Timeout: 10 * time.Second, FirstPause: time.Millisecond, LongestPause: 10 * time.Millisecond}
}

func open(t *testing.T, url string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), settings(url))
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// database is a ledger that admits one tenant and refuses another by name.
func database(t *testing.T) (url string, admitted, refused uuid.UUID) {
	t.Helper()
	_, url = localpgtest.Database(t, localpgtest.Shared(t))
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = connection.Close(t.Context()) }()
	admitted, refused = uuid.New(), uuid.New()
	_, err = connection.Exec(t.Context(), ledger.Schema)
	require.NoError(t, err)
	_, err = connection.Exec(t.Context(), `insert into ledger.admission values ($1, true), ($2, false)`, admitted, refused)
	require.NoError(t, err)
	return url, admitted, refused
}

// The ledger decides who is admitted, and silence admits nobody (F9).
func TestAdmit(t *testing.T) {
	t.Parallel()

	t.Run("ALedgerThatIsAwayForAMomentIsAskedAgain", func(t *testing.T) {
		t.Parallel()
		url, admitted, _ := database(t)
		target, err := pgx.ParseConfig(url)
		require.NoError(t, err)
		address, refused := flakyProxy(t, target.Host, target.Port, 2)
		yes, err := open(t, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", target.User, target.Password, address, target.Database)).
			Admit(t.Context(), admitted)
		require.NoError(t, err)
		require.True(t, yes)
		require.EqualValues(t, 2, refused.Load())
	})

	t.Run("NobodyIsAdmittedWithoutAnAnswer", func(t *testing.T) {
		t.Parallel()
		l := open(t, "postgres://nobody@"+deadAddress(t)+"/ledger?sslmode=disable")
		yes, err := l.Admit(t.Context(), uuid.New())
		require.ErrorIs(t, err, ledger.ErrUnavailable)
		require.False(t, yes)
		require.False(t, fault.Infrastructure(err), "it does not look like our own database")
		require.NotContains(t, err.Error(), "nobody@")
	})

	t.Run("OnlyListedTenantsAreAdmitted", func(t *testing.T) {
		t.Parallel()
		url, admitted, refused := database(t)
		l := open(t, url)
		for tenant, want := range map[uuid.UUID]bool{admitted: true, refused: false, uuid.New(): false} {
			yes, err := l.Admit(t.Context(), tenant)
			require.NoError(t, err)
			require.Equal(t, want, yes)
		}
	})

	t.Run("TheEndOfTheContextIsNoAnswerOfTheLedger", func(t *testing.T) {
		t.Parallel()
		url, admitted, _ := database(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := open(t, url).Admit(ctx, admitted)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, ledger.ErrUnavailable)
	})

	t.Run("WithoutALedgerEverybodyIsAdmitted", func(t *testing.T) {
		t.Parallel()
		l := open(t, "")
		require.False(t, l.Configured())
		yes, err := l.Admit(t.Context(), uuid.New())
		require.NoError(t, err)
		require.True(t, yes)
		require.NoError(t, l.Check(t.Context()))
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()

	t.Run("ALedgerThatAnswersIsReady", func(t *testing.T) {
		t.Parallel()
		url, _, _ := database(t)
		require.NoError(t, open(t, url).Check(t.Context()))
	})

	t.Run("AMissingTableIsAFaultThatDoesNotHeal", func(t *testing.T) {
		t.Parallel()
		_, url := localpgtest.Database(t, localpgtest.Shared(t))
		err := open(t, url).Check(t.Context())
		require.ErrorIs(t, err, ledger.ErrUnavailable)
		require.Equal(t, fault.SchemaMissing, fault.Of(err))
		require.False(t, ledger.Heals(err))
	})

	t.Run("AServerThatIsDownHeals", func(t *testing.T) {
		t.Parallel()
		err := open(t, "postgres://"+deadAddress(t)+"/ledger?sslmode=disable").Check(t.Context())
		require.True(t, ledger.Heals(err), "%v", err)
	})

	t.Run("AServerThatSaysNothingHeals", func(t *testing.T) {
		t.Parallel()
		silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = silent.Close() })
		s := settings("postgres://" + silent.Addr().String() + "/ledger?sslmode=disable")
		s.Timeout = 100 * time.Millisecond
		l, err := ledger.Open(t.Context(), s)
		require.NoError(t, err)
		t.Cleanup(l.Close)
		err = l.Check(t.Context())
		require.ErrorIs(t, err, ledger.ErrUnavailable)
		require.True(t, ledger.Heals(err), "%v", err)
		_, err = l.Admit(t.Context(), uuid.New())
		require.ErrorIs(t, err, ledger.ErrUnavailable)
	})
}

func TestOpenRefusesWhatItCannotUseWithoutShowingIt(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:planted@h:port/d", "postgres://u:planted@db.example/d?sslmode=disable"} {
		_, err := ledger.Open(t.Context(), settings(url))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "planted")
	}
}

// flakyProxy forwards connections to a server after it cut the first ones.
func flakyProxy(t *testing.T, host string, port uint16, cut int32) (address string, refused *atomic.Int32) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused = new(atomic.Int32)
	var forwards sync.WaitGroup
	t.Cleanup(forwards.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	forwards.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if refused.Load() < cut {
				refused.Add(1)
				_ = client.Close()
				continue
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
			if err != nil {
				t.Errorf("dial the server: %v", err)
				_ = client.Close()
				return
			}
			forwards.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			forwards.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		}
	})
	return listener.Addr().String(), refused
}

func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}
