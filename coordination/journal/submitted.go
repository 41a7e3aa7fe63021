package journal

import (
	"context"
	_ "embed" // the queries
	"fmt"
)

//go:embed sql/submitted.sql
var submittedSQL string

// Submitted reports whether a workflow of this ID and name exists. It locks nothing: the SDK's own insert would lock the
// row of a repeated submission until the caller's transaction ends, and every claim of its queue contends with that.
func Submitted(ctx context.Context, db Connection, workflowID, name string) (known bool, err error) {
	if err := db.QueryRow(ctx, submittedSQL, workflowID, name).Scan(&known); err != nil {
		return false, fmt.Errorf("look for workflow: %w", err)
	}
	return known, nil
}
