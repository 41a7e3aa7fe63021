// Package submit owns the door through which work enters: an API process or a command line enqueues a workflow in
// the same transaction as its business rows.
//
// The journal is authoritative: what was committed will run. A submitter is no executor: it never starts a workflow
// in its own process, because that would take the row from the worker that runs it. It knows neither leases nor
// recovery. A failed submission leaves nothing.
package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kesita/platform/coordination/guard"
	"github.com/kesita/platform/coordination/journal"
	"github.com/kesita/platform/coordination/timing"
	"github.com/kesita/platform/coordination/workflow"
)

// poolSize: one connection listens for the SDK, one serves reads.
const poolSize = 3

// Client submits work to one application. Make it with Open; Close it.
type Client struct {
	sdk     dbos.Client
	version string
}

// Open returns a client for the application and compatibility version whose journal url leads to. The login must not
// be a worker login. The client has a small pool of its own, because the SDK closes the pool that it was given.
func Open(ctx context.Context, url, application, version string) (*Client, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse database url: %w", err)
	}
	if err := guard.CheckTransport(config.ConnConfig); err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open submit pool: %w", err)
	}
	if err := journal.CheckCatalog(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	sdk, err := dbos.NewClient(context.WithoutCancel(ctx), dbos.ClientConfig{
		AppName: application, SystemDBPool: pool, DatabaseSchema: journal.Schema, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open submit client: %w", err)
	}
	return &Client{sdk: sdk, version: version}, nil
}

// Close ends the client's connections.
func (c *Client) Close() error {
	if err := dbos.Shutdown(c.sdk, timing.Production().Shutdown); err != nil {
		return fmt.Errorf("close submit client: %w", err)
	}
	return nil
}

// Request is one piece of work.
type Request struct {
	// Queue is a named business queue.
	Queue string
	// Workflow is the name it was registered under.
	Workflow string
	// ID makes the submission idempotent: the same ID is enqueued once.
	ID string
	// Input is what the workflow gets, as JSON.
	Input any
}

// ErrNoID says that a request has no ID: it could not be repeated safely.
var ErrNoID = errors.New("an id is required")

// Submit enqueues the request in tx: it exists when tx commits, and not otherwise. Repeated, it does nothing and holds
// nothing up, however long tx stays open. A refused request (workflow.ErrQueue,
// ErrNoID) leaves tx usable; after any other error it must be rolled back.
func (c *Client) Submit(ctx context.Context, tx pgx.Tx, r Request) error {
	if err := workflow.CheckQueue(r.Queue); err != nil {
		return fmt.Errorf("submit %s: %w", r.Workflow, err)
	}
	if r.ID == "" {
		return fmt.Errorf("submit %s: %w", r.Workflow, ErrNoID)
	}
	known, err := journal.Submitted(ctx, tx, r.ID, r.Workflow)
	if err != nil || known {
		return err
	}
	options := append(workflow.Options(c.version, r.Workflow, r.ID), dbos.WithEnqueueTransaction(tx))
	if _, err := dbos.Enqueue[any](c.sdk, r.Queue, r.Workflow, r.Input, options...); err != nil {
		return fmt.Errorf("submit %s: %w", r.Workflow, err)
	}
	return nil
}
