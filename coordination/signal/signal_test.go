package signal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"regexp"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/signal"
)

// O1: a line is one JSON object with operation, reason, executor and what was given, in that form for every level.
func TestALineCarriesOperationReasonAndExecutor(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := signal.New(signal.JSON(&out, slog.LevelDebug)).With("0000-1111")
	log.Debug(t.Context(), signal.Watchdog, signal.LeaseLost)
	log.Info(t.Context(), signal.Watchdog, signal.LeaseLost, slog.Int("count", 3))
	log.Warn(t.Context(), signal.Watchdog, signal.LeaseLost)
	log.Error(t.Context(), signal.Watchdog, signal.LeaseLost)
	decoder := json.NewDecoder(&out)
	for _, level := range []string{"DEBUG", "INFO", "WARN", "ERROR"} {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		require.Equal(t, level, line["level"])
		require.Equal(t, "executor_watchdog", line["operation"])
		require.Equal(t, "lease_lost", line["reason"])
		require.Equal(t, "0000-1111", line["executor_id"])
		require.NotEmpty(t, line["time"])
	}
	require.False(t, decoder.More())
}

func TestALevelBelowTheLoggersIsNotWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	signal.New(signal.JSON(&out, slog.LevelInfo)).Debug(t.Context(), signal.Startup, signal.Started)
	require.Empty(t, out.String())
}

func TestALogWithoutALoggerDiscards(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() {
		signal.New(nil).With("x").Error(t.Context(), signal.Startup, signal.Started, signal.Fault(nil))
	})
}

// O1: never a payload, also when the server quotes one.
func TestAFaultLosesTheData(t *testing.T) {
	t.Parallel()
	err := &pgconn.PgError{
		Severity: "ERROR", Code: "22P02", Message: `invalid input syntax for type integer: "planted"`,
		Detail: "planted", Where: "planted", Hint: "planted", InternalQuery: "planted",
	}
	attr := signal.Fault(errors.Join(errors.New("settle"), err))
	require.Equal(t, "fault", attr.Key)
	require.NotContains(t, attr.Value.String(), "planted")
	require.Contains(t, attr.Value.String(), "22P02")
}

// O1: both lists are closed, so they are declared in one place, without doubles, in words that an alert can match.
func TestOperationsAndReasonsAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "signal.go", nil, 0)
	require.NoError(t, err)
	word, seen := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`), map[string]map[string]bool{"Operation": {}, "Reason": {}}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		if !ok || seen[kind.Name] == nil {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		require.True(t, ok)
		value, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		require.Regexp(t, word, value)
		require.False(t, seen[kind.Name][value], "%s is declared twice", value)
		seen[kind.Name][value] = true
		return true
	})
	for _, operation := range []string{
		"executor_watchdog", "executor_coordination", "executor_recovery", "executor_startup", "executor_shutdown",
		"dbos_readiness", "workflow_recovery_exhausted",
	} {
		require.True(t, seen["Operation"][operation], operation)
	}
	require.Greater(t, len(seen["Reason"]), 30)
}
