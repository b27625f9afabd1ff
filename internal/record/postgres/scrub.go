package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// textTables are the tables with text of messages, or data made from it. The other
// tables that an erasure changes hold numbers only; autovacuum cleans them.
const textTables = "messages, summaries, revisions, view, conversations, projects, payloads, chunks, state, sections, vectors, vector_blocks, map_runs, map_items"

// scrubPatience is how long Scrub waits for older transactions, and for the lock of each
// table.
const scrubPatience = 30 * time.Second

// errOldTransaction says that something may still read the erased rows.
var errOldTransaction = errors.New("a transaction that began before the erasure is still open, here or on a standby")

// Scrub implements [sqldb.DB]. A plain VACUUM marks the space of dead rows as free and
// leaves their bytes in the page, so that the tables are rewritten, with their indexes
// and TOAST tables. Each is locked while it is rewritten: other processes wait.
func (p *pool) Scrub(ctx context.Context) error {
	err := p.Writer(ctx, func(c sqldb.Conn) error {
		if err := mayVacuum(c); err != nil {
			return err
		}
		if err := waitForOlder(ctx, c); err != nil {
			return err
		}
		// A reader that holds a lock may wait for this process in turn.
		if err := c.Script(fmt.Sprintf("SET lock_timeout = %d", scrubPatience.Milliseconds())); err != nil {
			return err
		}
		err := c.Script("VACUUM (FULL) " + textTables)
		return errors.Join(err, c.Script("RESET lock_timeout"))
	})
	e, refused := errors.AsType[*pgconn.PgError](err)
	if errors.Is(err, errOldTransaction) || refused && e.Code == "55P03" { // lock_not_available
		return &hint.Error{
			Err:  fmt.Errorf("the erased messages are gone from every table, but not yet from the pages of their files: %w", err),
			Hint: "end transactions that stay open (pg_stat_activity, pg_prepared_xacts and pg_replication_slots show them), then run `lcm forget --finish`",
		}
	}
	return err
}

// mayVacuum returns an error if VACUUM would leave out a table, of which the server only
// warns: it asks for the owner of the table or of the database.
func mayVacuum(c sqldb.Conn) error {
	var table, owner string
	found, err := c.One(`
		SELECT t.relname::text, pg_get_userbyid(t.relowner)::text
		FROM unnest(string_to_array('`+textTables+`', ', ')) AS n (name) JOIN pg_class t ON t.oid = to_regclass(n.name)
		JOIN pg_database d ON d.datname = current_database()
		WHERE NOT pg_has_role(t.relowner, 'USAGE') AND NOT pg_has_role(d.datdba, 'USAGE')`, sqldb.Into(&table, &owner))
	if err != nil || !found {
		return err
	}
	return &hint.Error{
		Err:  fmt.Errorf("the erased messages are gone from every table, but not yet from the pages of their files: the role of this connection may not rewrite the table %s", table),
		Hint: fmt.Sprintf("run `lcm forget --finish` as the role %s, which owns the table, or as a member of it", owner),
	}
}

// older is a query: whether a transaction is open that began before another, or a
// standby (a sender without a database, or a slot) may still read the rows of that time.
// The catalog_xmin of a slot keeps rows of the catalogue only.
const older = `
	WITH erasure AS (SELECT age(CAST(CAST(? AS text) AS xid8)::xid) AS age)
	SELECT 1 FROM pg_stat_activity, erasure e
	WHERE (datname = current_database() OR datname IS NULL) AND pid <> pg_backend_pid() AND greatest(age(backend_xmin), age(backend_xid)) > e.age
	UNION ALL SELECT 1 FROM pg_replication_slots, erasure e WHERE age(xmin) > e.age
	UNION ALL SELECT 1 FROM pg_prepared_xacts, erasure e WHERE database = current_database() AND age(transaction) > e.age`

// waitForOlder waits until nothing may read rows that were deleted before now: VACUUM
// keeps those that something may still read.
func waitForOlder(ctx context.Context, c sqldb.Conn) error {
	now, err := sqldb.Value[string](c, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text`)
	if err != nil {
		return err
	}
	for begun := time.Now(); ; {
		waits, err := c.Has(older, now)
		if err != nil || !waits {
			return err
		}
		if time.Since(begun) > scrubPatience {
			return errOldTransaction
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
