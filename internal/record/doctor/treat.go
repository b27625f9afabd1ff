package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/repair"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// BackupPath names a backup of a database by its purpose and time.
func BackupPath(database string, now time.Time, why string) string {
	name := "lcm-" + now.UTC().Format("20060102T150405.000Z")
	if why != "" {
		name += "-" + why
	}
	return filepath.Join(filepath.Dir(database), "backups", name+".db")
}

// Treat fixes the findings of Examine that it can, after a verified backup. It makes no
// backup if there are only unfinished copies to remove.
func Treat(ctx context.Context, p Patient) (Report, error) {
	before, err := Examine(ctx, p)
	if err != nil || !before.Fixable() {
		return before, err
	}
	after := before
	if before.mendable() {
		if after, err = p.treat(ctx, before); err != nil {
			return after, err
		}
	}
	p.removeLeftovers(&after)
	for _, f := range before.Findings {
		if i := slices.IndexFunc(after.Findings, func(g Finding) bool { return g.Code == f.Code && g.Where == f.Where }); i < 0 {
			after.Fixed = append(after.Fixed, f)
		} else if after.Findings[i].Advice != "" { // Treat could not fix it
			after.Findings[i].Fix = ""
		}
	}
	return after, nil
}

// mendable reports whether there is anything to fix in the database itself. Leftovers are
// removed without a backup, which may have no room before.
func (r Report) mendable() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Fix != "" && f.Code != "part-file" })
}

// treat fixes the database after a backup, and examines it again.
func (p Patient) treat(ctx context.Context, before Report) (Report, error) {
	backup := BackupPath(p.Path, p.now(), "before-fix")
	if err := p.keep(ctx, before, backup); err != nil {
		return before, fmt.Errorf("nothing was changed, because no backup could be made: %w", err)
	}
	failures := p.mend(ctx, before)
	if ctx.Err() != nil {
		return before, ctx.Err()
	}
	after, err := Examine(ctx, p)
	after.Backup, after.Failures = backup, failures
	return after, err
}

// keep makes a backup. It copies an incomplete database without verification, and one that
// cannot be opened byte by byte.
func (p Patient) keep(ctx context.Context, r Report, to string) error {
	if r.has(incomplete...) && !r.has(corrupt...) {
		return backup.CopyUnproved(ctx, p.Path, to)
	}
	if r.Opened {
		db, err := p.open(ctx)
		if err != nil {
			return err
		}
		_, err = db.Backup(ctx, to, nil)
		if err = errors.Join(err, db.Close()); err == nil || !check.Unopenable(err) {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if backup.Exists(to) {
		return os.ErrExist
	}
	return backup.CopyFiles(ctx, p.Path, to)
}

// mend applies the fixes, and returns the failures.
func (p Patient) mend(ctx context.Context, r Report) (failures []string) {
	fail := func(what string, err error) {
		if err != nil {
			failures = append(failures, what+": "+sqldb.WithoutHint(err))
		}
	}
	var faults []store.Fault
	for _, f := range r.Findings {
		faults = append(faults, store.Fault{Code: f.Code, Node: f.Where})
	}
	fail("the file", repair.File(ctx, p.Path, faults))
	if still, err := check.File(ctx, p.Path); err != nil || closed(still) {
		return failures
	}
	if r.has(corrupt...) {
		return failures
	}
	if r.has(incomplete...) || r.has("schema-code") {
		fail("the schema", repair.Schema(ctx, p.Path))
	}
	db, err := sqlite.Open(ctx, p.Path, p.Options)
	if err != nil {
		fail("the database", err)
		return failures
	}
	defer func() { fail("the database", db.Close()) }()
	fail("the database", db.Repair(ctx))
	fail("the summaries", p.remake(ctx, db))
	fail("the maintenance", p.unstick(ctx, db))
	fail("the erasure", p.finishErasing(ctx, db))
	return failures
}

// remake rewrites the summaries whose texts are damaged.
func (p Patient) remake(ctx context.Context, db *sqlite.DB) error {
	faults, err := db.Check(ctx)
	if err != nil {
		return err
	}
	by := map[store.ConversationID][]store.SummaryID{}
	for _, f := range faults {
		if f.Code != "summary-text" && f.Code != "summary-broken" && f.Code != "summary-fallback" {
			continue
		}
		s, err := store.First(db.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{store.SummaryID(f.Node)}}))
		if err == nil && !slices.Contains(by[s.Conversation], s.ID) {
			by[s.Conversation] = append(by[s.Conversation], s.ID)
		}
	}
	return p.rewrite(ctx, db, by)
}

// rewrite writes summaries again from their sources, and goes on after an error.
func (p Patient) rewrite(ctx context.Context, db *sqlite.DB, by map[store.ConversationID][]store.SummaryID) error {
	if len(by) == 0 {
		return nil
	}
	runner, err := compact.NewRunner(compact.Config{Store: db, Counter: p.Counter})
	if err != nil {
		return err
	}
	var errs []error
	// Origins come before forks: a fork's summaries may have them as sources.
	for _, conversation := range slices.Sorted(maps.Keys(by)) {
		if _, err := runner.Remake(ctx, conversation, by[conversation]); err != nil {
			errs = append(errs, fmt.Errorf("conversation %d: %w", conversation, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// stuckAfter is how many compactions in a row without progress count as stuck.
const stuckAfter = 3

// maintenance finds conversations whose compaction is stuck.
func maintenance(ctx context.Context, p Patient, db *sqlite.DB) ([]store.Fault, error) {
	list, err := db.Conversations(ctx, store.ConversationQuery{ActiveOnly: true})
	if err != nil {
		return nil, err
	}
	ledger := compact.NewLedger(db, p.now)
	var faults []store.Fault
	for _, c := range list {
		e, err := ledger.Entry(ctx, c.ID)
		if err != nil {
			return faults, err
		}
		if e.Attempts >= stuckAfter || e.NotBefore.After(p.now().Add(24*time.Hour)) {
			faults = append(faults, store.Fault{Code: "maintenance-stuck", Node: fmt.Sprintf("conversation %d", c.ID), Detail: fmt.Sprintf(
				"compaction has made no progress %d times in a row (%s), the next try is at %s", e.Attempts, e.Reason, e.NotBefore.Format(time.RFC3339))})
		}
	}
	return faults, nil
}

// unstick lets compaction try again.
func (p Patient) unstick(ctx context.Context, db *sqlite.DB) error {
	stuck, err := maintenance(ctx, p, db)
	if err != nil || len(stuck) == 0 {
		return err
	}
	ledger := compact.NewLedger(db, p.now)
	for _, f := range stuck {
		var id store.ConversationID
		if _, err := fmt.Sscanf(f.Node, "conversation %d", &id); err != nil {
			return err
		}
		if err := ledger.Clear(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// unfinished finds interrupted erasures: free space and the log may still hold content.
func unfinished(ctx context.Context, db *sqlite.DB) ([]store.Fault, error) {
	all, err := db.Tombstones(ctx)
	var faults []store.Fault
	for _, t := range all {
		if !t.Finished {
			faults = append(faults, store.Fault{Code: "erasure-unfinished", Node: fmt.Sprintf("tombstone %d", t.ID),
				Detail: "what was erased is gone from every table, but parts of it may be left in free space of the file"})
		}
	}
	return faults, err
}

// finishErasing completes interrupted erasures.
func (p Patient) finishErasing(ctx context.Context, db *sqlite.DB) error {
	left, err := unfinished(ctx, db)
	if err != nil || len(left) == 0 {
		return err
	}
	unworded, err := db.Unworded(ctx)
	if err != nil {
		return err
	}
	by := map[store.ConversationID][]store.SummaryID{}
	for _, s := range unworded {
		by[s.Conversation] = append(by[s.Conversation], s.ID)
	}
	if err := p.rewrite(ctx, db, by); err != nil {
		return err
	}
	if err := db.Reindex(ctx); err != nil {
		return err
	}
	return db.Scrub(ctx)
}
