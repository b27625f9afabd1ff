package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/sqlite/repair"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Loader fills a new database with the rows of an archive. After an error of
// one row or payload it can be given the next.
type Loader struct {
	// KeepDamaged keeps records and payloads that do not match their hashes.
	// Otherwise their rows stay without them.
	KeepDamaged bool

	c       *dbfile.Conn
	columns map[string][]string // of the tables that may be filled
	lost    []store.Fault
	loaded  int64 // messages
}

// Build makes a new database beside path from the rows that fill adds, which have a
// schema version. It repairs derived rows, builds the search index and verifies everything; the proof lists missing
// messages. The database gets its name with [Scratch.Install].
func Build(ctx context.Context, path string, schema int, fill func(*Loader) error) (*Scratch, error) {
	tmp, err := dbfile.PartFile(dbfile.Resolve(path))
	if err != nil {
		return nil, err
	}
	s := &Scratch{path: tmp}
	l, err := load(ctx, tmp, schema, fill)
	if err == nil {
		_, err = dbfile.WithFile(ctx, tmp, dbfile.Options{Relaxed: true}, func(f *dbfile.File) (bool, error) { return true, s.settle(ctx, f, l) })
	}
	if err != nil {
		s.Remove()
		return nil, dbfile.Explain(path, err)
	}
	return s, nil
}

// settle verifies the loaded rows and repairs those that are derived.
func (s *Scratch) settle(ctx context.Context, f *dbfile.File, l *Loader) (err error) {
	ix := search.New(f.DB())
	s.Proof, err = check.Prove(ctx, f)
	if err == nil && len(s.Proof.Faults) > 0 {
		if !l.KeepDamaged {
			err = f.Transact(ctx, func(c *dbfile.Conn) error { return blankRecords(c, s.Proof.Faults) })
		}
		if failed := repair.Run(ctx, f, ix); failed != nil && ctx.Err() == nil && !dbfile.Full(failed) { // what it left is still to be had
			l.lost = append(l.lost, store.Fault{Code: "unreadable", Node: "the derived rows", Detail: sqldb.WithoutHint(failed)})
		} else {
			err = errors.Join(err, failed)
		}
		if err == nil {
			s.Proof, err = check.Prove(ctx, f)
		}
	}
	if err == nil {
		err = ix.Reindex(ctx)
	}
	s.Proof.Faults = append(s.Proof.Faults, l.lost...)
	s.Proof.Messages = min(s.Proof.Messages, l.loaded) // a proof counts positions, also those of missing messages
	return err
}

// blankRecords removes the records that do not match their hashes. Position,
// hash and link of each stay, so that it is still reported. Records with
// payloads cut out are kept: the payload may be the damaged part.
func blankRecords(c *dbfile.Conn, faults []store.Fault) error {
	for _, f := range faults {
		id, err := store.ParseID(f.Node)
		if f.Code != "record" || err != nil || id.Message == 0 {
			continue
		}
		if err := c.Exec(`UPDATE messages SET record = x'' WHERE id = ? AND cuts IS NULL`, int64(id.Message)); err != nil {
			return err
		}
	}
	return nil
}

// Scratch is a finished database that has no name yet.
type Scratch struct {
	path  string
	Proof verify.Proof
}

// Path is where the database is until it is installed.
func (s *Scratch) Path() string { return s.path }

// Remove throws the database away, if it was not installed.
func (s *Scratch) Remove() { dbfile.RemoveDatabase(s.path) }

// Install gives the database its name. It does not replace a database that
// holds conversations.
func (s *Scratch) Install(ctx context.Context, to string) error {
	to = dbfile.Resolve(to)
	release, err := backup.LockOut(to)
	if err != nil {
		return err
	}
	defer release()
	if backup.Exists(to) {
		empty, err := isEmptyFile(ctx, to)
		if err != nil {
			return err
		}
		if !empty {
			return &hint.Error{Err: fmt.Errorf("there is something in the database at %s", to), Hint: "repeat the command: it is then merged with that database"}
		}
	}
	if err := dbfile.SyncFile(s.path); err != nil {
		return err
	}
	return dbfile.Explain(to, os.Rename(s.path, to))
}

// contentsCount counts the rows that a replaced database would lose. State does
// not count: it means nothing without conversations.
const contentsCount = `SELECT (SELECT count(*) FROM conversations) + (SELECT count(*) FROM erasures)`

// IsEmpty reports whether the database holds neither conversations nor traces
// of erased ones.
func IsEmpty(ctx context.Context, f *dbfile.File) (bool, error) {
	n, err := sqldb.Read(ctx, f.DB(), func(c sqldb.Conn) (int, error) { return sqldb.Value[int](c, contentsCount) })
	return n == 0, err
}

// isEmptyFile is IsEmpty for a file that LockOut holds.
func isEmptyFile(ctx context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return true, err
	}
	n := 0
	err = dbfile.WithConn(ctx, path, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) (err error) {
		n, err = sqldb.Value[int](c, contentsCount)
		return err
	})
	return n == 0, dbfile.Explain(path, err)
}

// load fills a new file. It keeps no journal on disk: after a crash the
// unfinished file has no name.
func load(ctx context.Context, path string, schema int, fill func(*Loader) error) (*Loader, error) {
	if err := dbfile.CheckVersion(schema); err != nil {
		return nil, err
	}
	want, err := dbfile.Schema()
	if err != nil {
		return nil, err
	}
	l := &Loader{columns: map[string][]string{}}
	for _, d := range Dumped {
		l.columns[d.Table] = want[d.Table].ColumnNames()
	}
	err = dbfile.WithConn(ctx, path, dbfile.Options{CacheKiB: 64 << 10}, func(c *dbfile.Conn) error {
		l.c = c
		return l.fill(fill)
	})
	return l, err
}

func (l *Loader) fill(fill func(*Loader) error) error {
	return sqldb.Steps(
		func() error { // the journal in memory allows a failed row to be undone without the others
			return l.c.Script("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE")
		},
		func() error { return dbfile.CreateTables(l.c) },
		func() error { return l.c.Script("DELETE FROM tombstone_salt") }, // the archive has its own salts
		func() error { return fill(l) },
		l.finish,
		func() error { return l.c.Script("COMMIT") })
}

// Row adds a row of an archive.
func (l *Loader) Row(table string, columns []string, values []any) error {
	known := l.columns[table]
	if known == nil {
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
	err := l.c.Exec(`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+marks+`)`, values...)
	if err != nil {
		return fmt.Errorf("a row of %s: %w", table, err)
	}
	if table == "messages" {
		l.loaded++
	}
	return nil
}

// Payload adds the content of the payload with the given hash.
func (l *Loader) Payload(sum [sha256.Size]byte, size int64, r io.Reader) (err error) {
	var num, want int64
	found, err := l.c.One(`SELECT num, size FROM payloads WHERE sha256 = ?`, sqldb.Into(&num, &want), sum[:])
	if err != nil {
		return err
	}
	if !found || want != size && !l.KeepDamaged {
		return fmt.Errorf("the payload %x… of %d bytes belongs to nothing", sum[:8], size)
	}
	defer func() {
		if err != nil && !l.KeepDamaged {
			err = errors.Join(err, l.c.Exec(`DELETE FROM chunks WHERE payload = ?`, num))
		}
	}()
	h := sha256.New()
	raw := make([]byte, record.ChunkSize)
	for n := 0; ; n++ {
		got, err := io.ReadFull(r, raw)
		if got > 0 {
			h.Write(raw[:got])
			if err := record.PutChunk(l.c, num, n, raw[:got]); err != nil {
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

// Chunk adds a chunk in its stored form.
func (l *Loader) Chunk(payload, n int64, compressed bool, data []byte) error {
	return l.c.Exec(`INSERT INTO chunks (payload, n, compressed, data) VALUES (?, ?, ?, ?)`, payload, n, compressed, data)
}

// seal seals the rows of an archive that holds only some conversations, which has no seals.
func (l *Loader) seal() error {
	sealed, err := l.c.Has(`SELECT 1 FROM seals`)
	if err != nil || sealed {
		return err
	}
	if l.KeepDamaged {
		l.lost = append(l.lost, store.Fault{Code: "conversation-list", Node: "the list of conversations", Detail: "it cannot be read whether a conversation or a tombstone is missing"})
	}
	return seal.Fill(l.c)
}

// finish adds the rows that every database has, and lists payloads without
// content.
func (l *Loader) finish() error {
	if err := tombstone.EnsureSalt(l.c); err != nil {
		return err
	}
	if err := l.seal(); err != nil {
		return err
	}
	return l.c.Query(`SELECT id FROM payloads p WHERE size > 0 AND NOT EXISTS (SELECT 1 FROM chunks WHERE payload = p.num)`, func(s sqldb.Row) error {
		l.lost = append(l.lost, store.Fault{Code: "payload", Node: s.ColumnText(0), Detail: "its content is not there"})
		return nil
	})
}
