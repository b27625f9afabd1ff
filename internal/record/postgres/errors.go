package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// fail wraps an error of the driver.
func fail(err error, sql string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*sqldb.Error](err); ok {
		return err
	}
	message := err.Error()
	lost := !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errRolledBack)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		lost = unavailable(e)
		message = e.Message
		if e.Detail != "" {
			message += ": " + e.Detail
		}
	}
	return &sqldb.Error{SQL: sql, Err: err, Message: message, Fatal: true, Lost: lost}
}

// unavailable reports whether the server is stopped, has crashed, is starting, or has no
// connection left.
func unavailable(e *pgconn.PgError) bool {
	return e.Code == "57P01" || e.Code == "57P02" || e.Code == "57P03" || e.Code == tooManyConnections
}

const tooManyConnections = "53300"

// noneLeft reports whether the server had no connection left.
func noneLeft(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == tooManyConnections
}

// explain adds a hint for the operator to errors of the server.
func (p *pool) explain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, sqldb.ErrStop) {
		return err
	}
	if ctx.Err() != nil && sqldb.FromDatabase(err) && !errors.Is(err, errUnanswered) {
		return ctx.Err()
	}
	if _, known := errors.AsType[*hint.Error](err); known {
		return err
	}
	help := ""
	e, refused := errors.AsType[*pgconn.PgError](err)
	connecting, failed := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case errors.Is(err, store.ErrReadOnly) || refused && e.Code == "25006":
		help = "connect to a server that accepts writes"
	case refused && (e.Code == "28P01" || e.Code == "28000"):
		help = "check the user, and the password in PGPASSFILE or PGPASSWORD"
	case refused && e.Code == "3D000":
		help = "create the database first: createdb"
	case errors.Is(err, errReadersBusy):
		help = "look for locks in pg_stat_activity, or raise MaxReaders"
	case refused && e.Code == tooManyConnections:
		help = "the server has no connection left: raise max_connections, or lower MaxWriters and MaxReaders"
	case refused && e.Code == "53100":
		help = "the server's disk is full: free some space and repeat the command; nothing was half-written"
	case errors.Is(err, errUnanswered):
		help = "look whether it was stored before you repeat it"
	case failed && strings.Contains(connecting.Error(), "server refused TLS"):
		help = "the server offers no TLS: turn it on there, or connect with sslmode=disable in a private network"
	case failed && connecting != nil:
		help = "check that the server runs and that the host and port are right"
	default:
		return err
	}
	return &hint.Error{Err: fmt.Errorf("database %s: %w", p.name, err), Hint: help}
}
