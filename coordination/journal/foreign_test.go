package journal_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kesita/platform/coordination/fault"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/test/fixture"
)

// C7: any other number is refused with both numbers, and nothing is touched, not even a missing guard.
func TestAForeignCatalogIsRefusedWithBothNumbersAndNotTouched(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	worker := d.As(t, d.Executor(t, time.Hour.Milliseconds()))
	owner := d.Connect(t, d.OwnerURL)
	require.NoError(t, journal.CheckCatalog(t.Context(), worker))
	_, err := owner.Exec(t.Context(), `drop trigger workflow_lease_guard on dbos.streams`)
	require.NoError(t, err)
	for _, number := range []int{journal.Catalog - 1, journal.Catalog + 1} {
		_, err := owner.Exec(t.Context(), `update dbos.dbos_migrations set version = $1`, number)
		require.NoError(t, err)
		for name, refused := range map[string]error{
			"check":   journal.CheckCatalog(t.Context(), worker),
			"install": func() error { _, err := journal.InstallGuards(t.Context(), worker); return err }(),
		} {
			require.ErrorContains(t, refused, strconv.Itoa(number), name)
			require.ErrorContains(t, refused, strconv.Itoa(journal.Catalog), name)
		}
		require.ErrorIs(t, journal.CheckCatalog(t.Context(), worker), journal.ErrCatalog)
		require.False(t, one[bool](t, owner, `select workflow_coordination.is_guarded('dbos.streams')`))
	}
	_, err = owner.Exec(t.Context(), `drop schema dbos cascade`)
	require.NoError(t, err)
	err = journal.CheckCatalog(t.Context(), worker)
	require.ErrorIs(t, err, journal.ErrCatalog)
	require.ErrorContains(t, err, "run the migration")
	_, err = journal.InstallGuards(t.Context(), worker)
	require.Equal(t, fault.CatalogMismatch, fault.Of(err))
}

// C7: the installation is idempotent and adds what is missing, no more.
func TestMissingGuardsAreAddedOnce(t *testing.T) {
	t.Parallel()
	d := fixture.Copy(t)
	worker := d.As(t, d.Executor(t, time.Hour.Milliseconds()))
	d.Exec(t, d.OwnerURL, `drop trigger workflow_lease_guard on dbos.streams`)
	d.Exec(t, d.OwnerURL, `alter table dbos.queues disable trigger workflow_lease_guard`)
	for _, missing := range []int{2, 0} {
		added, err := journal.InstallGuards(t.Context(), worker)
		require.NoError(t, err)
		require.Equal(t, missing, added)
	}
}
