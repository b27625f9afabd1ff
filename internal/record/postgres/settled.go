package postgres

import (
	"context"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// settled finds the numbers below which no document can still appear.
//
// Numbers come from sequences, and transactions commit in another order than they took
// their numbers: message 7 may appear after message 8. Every writer locks the row of its
// conversation before it takes a number, and holds the table lock of that statement
// until it has ended. So the numbers that were taken when the sequences were read belong
// to transactions that held the lock then, or had ended; once none of those holds it any
// more, every number up to the ones that were read is there, or never will be.
type settled struct {
	mu      sync.Mutex
	through sqldb.Settled
	// next waits for the writers that were in flight when its numbers were read.
	next *inFlight
}

type inFlight struct {
	numbers sqldb.Settled
	writers map[string]bool
}

// Snapshot implements [sqldb.DB].
func (p *pool) Snapshot(ctx context.Context, fn func(sqldb.Conn, sqldb.Settled) error) error {
	return p.Reader(ctx, func(c sqldb.Conn) error {
		own := c.(*conn)
		through, err := p.settled.look(own)
		if err != nil {
			return err
		}
		own.gave = false // fn has got nothing yet
		return c.Read(func() error { return fn(c, through) })
	})
}

const readSequences = `
	SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM messages_id_seq),
	       (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM summaries_num_seq)`

// The statement runs after the sequences were read.
const readWriters = `
	SELECT virtualtransaction FROM pg_locks
	WHERE locktype = 'relation' AND relation = 'conversations'::regclass AND mode = 'RowShareLock' AND granted AND pid <> pg_backend_pid()
	  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// look returns the settled numbers. The caller takes its snapshot afterwards.
func (s *settled) look(c *conn) (sqldb.Settled, error) {
	s.mu.Lock()
	before := s.next
	s.mu.Unlock()
	var now sqldb.Settled
	c.wait = append(c.wait, statement{sql: readSequences, rows: func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&now.Messages, &now.Summaries}, func() error { return nil })
		return err
	}})
	list, err := sqldb.Column[string](c, readWriters)
	if err != nil {
		return now, err
	}
	writers := map[string]bool{}
	for _, w := range list {
		writers[w] = true
	}
	return s.note(before, now, writers), nil
}

// note takes in the numbers and writers that a look has read, which began when next was
// before. It may know nothing of the writers of a later next.
func (s *settled) note(before *inFlight, now sqldb.Settled, writers map[string]bool) sqldb.Settled {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(writers) == 0 {
		s.raise(now)
		s.next = nil
		return s.through
	}
	if s.next != nil && s.next == before {
		maps.DeleteFunc(s.next.writers, func(w string, _ bool) bool { return !writers[w] })
		if len(s.next.writers) == 0 {
			s.raise(s.next.numbers)
			s.next = nil
		}
	}
	if s.next == nil {
		s.next = &inFlight{now, writers}
	}
	return s.through
}

func (s *settled) raise(to sqldb.Settled) {
	s.through.Messages, s.through.Summaries = max(s.through.Messages, to.Messages), max(s.through.Summaries, to.Summaries)
}
