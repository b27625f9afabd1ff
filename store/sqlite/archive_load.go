package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/store"
)

// Loader fills a new database with the rows of an archive.
type Loader struct {
	c       *conn
	columns map[string][]string // of the tables that may be filled
}

// Build makes a new database beside path from the rows that fill gives it, in
// the schema that they were written in, brings it to the present one, builds
// its search index and proves it. Nothing is at path before [Scratch.Install],
// and nothing is left behind without it.
func Build(ctx context.Context, path string, schema int, fill func(*Loader) error) (*Scratch, error) {
	tmp, err := partFile(Resolve(path))
	if err != nil {
		return nil, err
	}
	s := &Scratch{path: tmp}
	if err := load(ctx, tmp, schema, fill); err != nil {
		s.Remove()
		return nil, explain(path, err)
	}
	db, err := Open(ctx, tmp, Options{Relaxed: true})
	if err == nil {
		err = db.Reindex(ctx)
		if err == nil {
			s.Proof, err = db.Prove(ctx)
		}
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		s.Remove()
		return nil, explain(path, err)
	}
	return s, nil
}

// Scratch is a finished database that has no name yet.
type Scratch struct {
	path  string
	Proof Proof
}

// Remove throws the database away, if it was not installed.
func (s *Scratch) Remove() { removeDatabase(s.path) }

// Install gives the database its name. A database that is there and holds
// something is not replaced.
func (s *Scratch) Install(ctx context.Context, to string) error {
	to = Resolve(to)
	release, err := alone(to)
	if err != nil {
		return err
	}
	defer release()
	if there(to) {
		empty, err := hollow(ctx, to)
		if err != nil {
			return err
		}
		if !empty {
			return &store.Problem{Err: fmt.Errorf("there is something in the database at %s", to), Hint: "repeat the command: it is then merged with what is there"}
		}
	}
	if err := syncFile(s.path); err != nil {
		return err
	}
	return explain(to, os.Rename(s.path, to))
}

// hollows counts what is in a database that one in its place would be missed
// in. State is not: where transcripts were read to, or when hooks fired, means
// nothing without conversations.
const hollows = `SELECT (SELECT count(*) FROM conversations) + (SELECT count(*) FROM erasures)`

// Hollow reports whether there is nothing in the database yet: neither
// conversations nor a trace of one that was erased.
func (db *DB) Hollow(ctx context.Context) (bool, error) {
	n := 0
	err := db.withReader(ctx, func(c *conn) error {
		_, err := c.one(hollows, integer(&n))
		return err
	})
	return n == 0, err
}

// hollow is Hollow for a database that this process keeps others out of.
func hollow(ctx context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return true, err
	}
	c, err := openConn(ctx, path, Options{ReadOnly: true, CacheKiB: 1 << 10})
	if err != nil {
		return false, explain(path, err)
	}
	n := 0
	_, err = c.one(hollows, integer(&n))
	return n == 0, errors.Join(explain(path, err), c.close())
}

// load fills a new file. A crash leaves a file that nobody knows, so nothing
// is journalled.
func load(ctx context.Context, path string, schema int, fill func(*Loader) error) (err error) {
	want, err := schemaAt(schema)
	if err != nil {
		return &store.Problem{Err: err, Hint: "upgrade lcm: the archive was written by a newer one"}
	}
	c, err := openConn(ctx, path, Options{CacheKiB: 64 << 10})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.Exec("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE"); err != nil {
		return err
	}
	all, err := steps()
	if err != nil {
		return err
	}
	for _, sql := range all[:schema] {
		if err := c.Exec(sql); err != nil {
			return err
		}
	}
	if err := c.Exec(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA application_id=%d", schema, applicationID)); err != nil {
		return err
	}
	l := &Loader{c: c, columns: map[string][]string{}}
	for _, d := range dumped {
		for _, col := range want[d.table].columns {
			l.columns[d.table] = append(l.columns[d.table], col.name)
		}
	}
	if l.columns["tombstone_salt"] != nil { // the archive brings its own
		if err := c.Exec("DELETE FROM tombstone_salt"); err != nil {
			return err
		}
	}
	if err := fill(l); err != nil {
		return err
	}
	if err := l.finish(); err != nil {
		return err
	}
	return c.Exec("COMMIT")
}

// Row adds a row of an archive.
func (l *Loader) Row(table string, columns []string, values []any) error {
	known, ok := l.columns[table]
	if !ok {
		return fmt.Errorf("there is no table %q in an archive of this version", table)
	}
	for _, name := range columns {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the table %s has no column %q", table, name)
		}
	}
	if len(columns) == 0 || len(columns) != len(values) {
		return fmt.Errorf("a row of %s has %d columns and %d values", table, len(columns), len(values))
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	err := l.c.exec(`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+marks+`)`, values...)
	if err != nil {
		return fmt.Errorf("a row of %s: %w", table, err)
	}
	return nil
}

// Payload adds the content that a row of payloads names by its hash.
func (l *Loader) Payload(sum [sha256.Size]byte, size int64, r io.Reader) error {
	var num, want int64
	found, err := l.c.one(`SELECT num, size FROM payloads WHERE sha256 = ?`, func(s *sqlite3.Stmt) error {
		num, want = s.ColumnInt64(0), s.ColumnInt64(1)
		return nil
	}, sum[:])
	if err != nil {
		return err
	}
	if !found || want != size {
		return fmt.Errorf("the payload %x… of %d bytes belongs to nothing", sum[:8], size)
	}
	h := sha256.New()
	raw := make([]byte, chunkSize)
	for n := 0; ; n++ {
		got, err := io.ReadFull(r, raw)
		if got > 0 {
			h.Write(raw[:got])
			if err := l.c.putChunk(num, n, raw[:got]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if [sha256.Size]byte(h.Sum(nil)) != sum {
		return fmt.Errorf("the payload %x… does not have the hash that it is named by", sum[:8])
	}
	return nil
}

func (c *conn) putChunk(num int64, n int, raw []byte) error {
	data, compressed := encoder.EncodeAll(raw, nil), true
	if len(data) >= len(raw) {
		data, compressed = raw, false
	}
	return c.exec(`INSERT INTO chunks (payload, n, compressed, data) VALUES (?, ?, ?, ?)`, num, n, compressed, data)
}

// finish proves that the rows belong together.
func (l *Loader) finish() error {
	if l.columns["tombstone_salt"] != nil {
		if err := l.c.exec(saltAtLeast); err != nil {
			return err
		}
	}
	var missing int
	if _, err := l.c.one(`SELECT count(*) FROM payloads p WHERE size > 0 AND NOT EXISTS (SELECT 1 FROM chunks WHERE payload = p.num)`, integer(&missing)); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%d payloads have no content", missing)
	}
	found := ""
	_, err := l.c.one(`SELECT "table" || ' refers to ' || parent FROM pragma_foreign_key_check`, text(&found))
	if err == nil && found != "" {
		err = fmt.Errorf("a row of %s that is not there", found)
	}
	return err
}
