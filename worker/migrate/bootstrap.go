package migrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Login is a role that may connect.
type Login struct {
	Name, Password string
}

// Bootstrap is what an administrator creates once for a service: its database and its four logins.
type Bootstrap struct {
	// AdminURL leads to any database of the server as a role that may create roles and databases.
	AdminURL                   string
	Database                   string
	Owner, Worker, API, Reader Login
}

// Create creates what is missing and sets the passwords. It may be repeated.
func (b Bootstrap) Create(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.AdminURL)
	if err != nil {
		return fmt.Errorf("connect as administrator: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, login := range []Login{b.Owner, b.Worker, b.API, b.Reader} {
		if err := perform(ctx, conn, roleSQL, login.Name, login.Password); err != nil {
			return fmt.Errorf("create login %s: %w", login.Name, err)
		}
	}
	if err := perform(ctx, conn, membershipSQL, b.Owner.Name, b.Worker.Name); err != nil {
		return fmt.Errorf("let owner end worker sessions: %w", err)
	}
	if err := perform(ctx, conn, databaseSQL, b.Database, b.Owner.Name); err != nil {
		return fmt.Errorf("create database %s: %w", b.Database, err)
	}
	return nil
}

// perform runs the statement that a query returns, if it returns one: names and passwords cannot be parameters of
// the statements themselves, so the server quotes them.
func perform(ctx context.Context, conn *pgx.Conn, query string, args ...any) error {
	var statement string
	err := conn.QueryRow(ctx, query, args...).Scan(&statement)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return err
}
