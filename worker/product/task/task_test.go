package task

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestCheckBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"BinaryIsNotText":          {"\x89PNG\r\n\x1a\n\xff", ErrBodyNotText},
		"BlankIsEmpty":             {" \n\t ", ErrBodyEmpty},
		"LargestIsAccepted":        {strings.Repeat("a", MaxBodyBytes), nil},
		"NulIsNotText":             {"a\x00b", ErrBodyNotText},
		"OneByteMoreIsTooLarge":    {strings.Repeat("a", MaxBodyBytes+1), ErrBodyTooLarge},
		"ReplacementRuneIsText":    {"a\uFFFDb", nil},
		"TextInAnyScriptIsAllowed": {"東京は大きい。", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, CheckBody(c.body), c.want)
		})
	}
}

// Stored work must be understood by the next version.
func TestStoredNamesDoNotChange(t *testing.T) {
	t.Parallel()
	input := Input{TenantID: uuid.MustParse("11111111-1111-4111-8111-111111111111"), TaskID: uuid.MustParse("22222222-2222-4222-8222-222222222222"), Generation: 3}
	stored, err := json.Marshal(input)
	require.NoError(t, err)
	require.JSONEq(t, `{"tenant_id":"11111111-1111-4111-8111-111111111111","task_id":"22222222-2222-4222-8222-222222222222","generation":3}`, string(stored))
	require.Equal(t, "product.run/11111111-1111-4111-8111-111111111111/22222222-2222-4222-8222-222222222222/3", input.WorkflowID())
	require.Equal(t, "product/22222222-2222-4222-8222-222222222222/3", input.IdempotencyKey())
	require.Equal(t, "product-run", Queue)
}

func TestParseWorkflowIDReadsWhatWorkflowIDWrote(t *testing.T) {
	t.Parallel()
	in := Input{TenantID: uuid.New(), TaskID: uuid.New(), Generation: 12}
	parsed, err := ParseWorkflowID(in.WorkflowID())
	require.NoError(t, err)
	require.Equal(t, in, parsed)
	id := in.WorkflowID()
	for _, other := range []string{"", "x", id + "/1", id + "x", "corpus" + id, strings.ToUpper(id), strings.Replace(id, "/12", "/012", 1)} {
		_, err := ParseWorkflowID(other)
		require.ErrorIs(t, err, ErrWorkflowID, other)
	}
}

// Each generation asks the provider anew; each attempt of one asks the same (F7).
func TestIdempotencyKeyIsOfTheGeneration(t *testing.T) {
	t.Parallel()
	first := Input{TaskID: uuid.New(), Generation: 1}
	second := first
	second.Generation++
	require.NotEqual(t, first.IdempotencyKey(), second.IdempotencyKey())
	require.Equal(t, first.IdempotencyKey(), Input{TaskID: first.TaskID, Generation: 1, TenantID: uuid.New()}.IdempotencyKey())
}
