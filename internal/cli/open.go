package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/llms"
)

// settings reads the configuration; flags override it.
func (p *program) settings() (*config.Config, error) {
	o := p.options
	o.Flags = map[string]string{}
	if p.database != "" {
		o.Flags["storage.database_path"] = p.database
	}
	for key, value := range p.logging {
		if *value != "" {
			o.Flags[key] = *value
		}
	}
	cfg, err := config.Load(o)
	if err != nil {
		return nil, &failure{exitConfig, err}
	}
	if err := hidePassword(cfg); err != nil {
		return nil, &failure{exitConfig, err}
	}
	if p.secret != "" {
		cfg.DatabasePassword = p.secret
	}
	p.hide = concealer(cfg)
	if p.options.Getenv == nil {
		p.spelling.Do(func() {
			for _, m := range config.MisspeltIn(os.Environ()) {
				p.warn("the variable %s is ignored; did you mean %s?", safetext.Line(m.Variable), m.Meant)
			}
		})
	}
	return cfg, nil
}

// firstImport says how a record begins.
const firstImport = "`lcm import` stores the sessions of the agents on this machine, `lcm import FILE` a file of messages; `lcm demo` shows lcm without either"

// openRecord is an open database with its engine.
type openRecord struct {
	cfg     *config.Config
	db      database
	engine  *lcm.Engine
	counter llms.Counter
	log     *slog.Logger
}

// database is an open store of either kind.
type database interface {
	store.Store
	SQL() sqldb.DB
	Path() string
	Stats(context.Context) (stats.Stats, error)
	IndexDue(context.Context) (bool, error)
}

// inFile returns the database as a file, for commands that need one. instead names
// the tool that does the same for PostgreSQL.
func (rec *openRecord) inFile(instead string) (*sqlite.DB, error) {
	if db, ok := rec.db.(*sqlite.DB); ok {
		return db, nil
	}
	return nil, notInFile(instead)
}

func notInFile(instead string) error {
	return failed(exitUsage, instead, "this works on a database file, and the database is in PostgreSQL")
}

// hidePassword moves the password out of a PostgreSQL URL. A --db without a password, such
// as `lcm setup` writes it, takes that of the same URL in the environment or the file.
func hidePassword(cfg *config.Config) (err error) {
	if !postgres.IsURL(cfg.Storage.DatabasePath) {
		return postgres.CheckPath(cfg.Storage.DatabasePath)
	}
	cfg.Storage.DatabasePath, cfg.DatabasePassword, err = postgres.TakePassword(cfg.Storage.DatabasePath)
	if err != nil || cfg.DatabasePassword != "" || cfg.Origin("storage.database_path") != config.FromFlag {
		return err
	}
	set, err := config.Load(config.Options{})
	if err != nil || !postgres.IsURL(set.Storage.DatabasePath) {
		return nil
	}
	if same, password, err := postgres.TakePassword(set.Storage.DatabasePath); err == nil && same == cfg.Storage.DatabasePath {
		cfg.DatabasePassword = password
	}
	return nil
}

// besideDatabase returns the directory for files that belong to a database.
func besideDatabase(database string) string {
	if !postgres.IsURL(database) {
		return filepath.Dir(database)
	}
	dir, err := config.Options{}.DataDir()
	if err != nil {
		return os.TempDir()
	}
	return dir
}

// absolute returns the path of a database that holds in every directory.
func absolute(database string) (string, error) {
	if postgres.IsURL(database) {
		return database, nil
	}
	return filepath.Abs(database)
}

// need is the access that a command needs to the database.
type need int

const (
	toRead  need = iota // the database must exist, and may be read-only
	toWrite             // the database is made if it does not exist
)

// openWith opens the database of a configuration.
func (p *program) openWith(ctx context.Context, cfg *config.Config, n need) (*openRecord, error) {
	db, err := p.openDatabase(ctx, cfg, n)
	if err != nil {
		return nil, err
	}
	if n == toWrite {
		markSeen(cfg.Storage.DatabasePath)
	}
	rec, err := newOpenRecord(cfg, db, p.logger(cfg))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return rec, nil
}

// isThere returns an error if there is no database file.
func (p *program) isThere(path string) error {
	_, err := os.Stat(path)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return nil
	case wasHere(path):
		return failed(exitNotFound, "`lcm db restore FILE` puts a backup in its place; `lcm import` makes a new one of the agents' transcripts", "the database at %s is gone", path)
	}
	return failed(exitNotFound, firstImport+"; --db, LCM_DATABASE_PATH and `lcm config` say where the database is", "there is no database at %s yet", path)
}

func (p *program) openDatabase(ctx context.Context, cfg *config.Config, n need) (database, error) {
	path := cfg.Storage.DatabasePath
	if n == toRead && !postgres.IsURL(path) {
		if err := p.isThere(path); err != nil {
			return nil, err
		}
	}
	if n == toWrite && wasHere(path) {
		p.note("the database that was at %s is gone, and a new one is made; `lcm db restore FILE` puts a backup in its place", safetext.Line(path))
	}
	o := sqlite.Options{BusyTimeout: cfg.Storage.BusyTimeout, Relaxed: cfg.Storage.Synchronous == "relaxed", Log: p.logger(cfg)}
	address := postgres.WithPassword(path, cfg.DatabasePassword)
	db, err := openPath(ctx, address, o)
	// A read-only or damaged file, or one on a full disk, may still be read.
	if n == toRead && (errors.Is(err, store.ErrReadOnly) || damaged(err) || dbfile.Full(err)) {
		o.ReadOnly = true
		db, err = openPath(ctx, address, o)
	}
	if err != nil {
		return nil, databaseFailure(err)
	}
	return db, nil
}

// openPath opens a database file, or the PostgreSQL database of a URL with the options
// that it shares with files.
func openPath(ctx context.Context, path string, o sqlite.Options) (database, error) {
	if err := postgres.CheckPath(path); err != nil {
		return nil, err
	}
	if postgres.IsURL(path) {
		db, err := postgres.Open(ctx, path, postgres.Options{ReadOnly: o.ReadOnly, Relaxed: o.Relaxed, DeferIndex: o.DeferIndex, Log: o.Log})
		if err != nil {
			return nil, err // db in an interface would not be nil
		}
		return db, nil
	}
	db, err := sqlite.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return db, nil
}

// beyondReading is the hint for a file whose conversations cannot be listed.
const beyondReading = "the file is damaged: `lcm doctor --fix` makes a new one of all that can be read; or restore a backup"

// databaseFailure gives every error of opening the database its exit code.
func databaseFailure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	_, hint := split(err)
	switch {
	case hint == "":
		hint = "--db, LCM_DATABASE_PATH and `lcm config` say where the database is"
	case damaged(err):
		hint = beyondReading
	}
	return advise(exitDatabase, hint, err)
}

func newOpenRecord(cfg *config.Config, db database, log *slog.Logger, more ...lcm.Option) (*openRecord, error) {
	counter, err := fromconfig.Counter(cfg)
	if err != nil {
		return nil, err
	}
	engine, err := newEngine(cfg, db, counter, log, more...)
	if err != nil {
		return nil, err
	}
	return &openRecord{cfg: cfg, db: db, engine: engine, counter: counter, log: log}, nil
}

// newEngine returns an engine on a store, as the settings want it.
func newEngine(cfg *config.Config, db store.Store, counter llms.Counter, log *slog.Logger, more ...lcm.Option) (*lcm.Engine, error) {
	options := append(fromconfig.Options(cfg, db, counter), lcm.WithLogger(log), lcm.WithoutBackground())
	engine, err := lcm.New(db, append(options, more...)...)
	if err != nil {
		return nil, advise(exitConfig, "`lcm config` shows the settings and where they come from", err)
	}
	return engine, nil
}

// missingFile reports whether the database is a file that does not exist yet.
func missingFile(cfg *config.Config) bool {
	_, err := os.Stat(cfg.Storage.DatabasePath)
	return errors.Is(err, fs.ErrNotExist) && !postgres.IsURL(cfg.Storage.DatabasePath)
}

// openMemory is openWith for an empty database in memory.
func (p *program) openMemory(ctx context.Context, cfg *config.Config, _ need) (*openRecord, error) {
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{Log: p.logger(cfg)})
	if err != nil {
		return nil, err
	}
	rec, err := newOpenRecord(cfg, db, p.logger(cfg))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return rec, nil
}

// close closes a database. Its error matters if something was written. A fold that is
// under way may still end; a command does not wait for longer.
func (rec *openRecord) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := rec.engine.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // folding was interrupted; it goes on the next time
	}
	return errors.Join(err, rec.db.Close())
}

// runs returns the RunE of a command that works on the database.
func (p *program) runs(n need, fn func(context.Context, *openRecord) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		return p.use(c.Context(), n, func(rec *openRecord) error { return fn(c.Context(), rec) })
	}
}

// use opens the database that the settings name, calls fn with it and closes it.
func (p *program) use(ctx context.Context, n need, fn func(*openRecord) error) error {
	cfg, err := p.settings()
	if err != nil {
		return err
	}
	return p.useWith(ctx, cfg, n, fn)
}

func (p *program) useWith(ctx context.Context, cfg *config.Config, n need, fn func(*openRecord) error) error {
	rec, err := p.openWith(ctx, cfg, n)
	if err != nil {
		return err
	}
	return errors.Join(fn(rec), rec.close(ctx))
}
