package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
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

// inPlace are the codes of findings that are fixed in the database as it is. The others
// are fixed in a new one, which takes its place.
var inPlace = []string{"permissions", "directory", "search-index", "search-behind", "summary-text", "summary-broken", "summary-fallback"}

// Treat fixes the findings of Examine that it can.
func Treat(ctx context.Context, p Patient) (Report, error) {
	before, err := Examine(ctx, p)
	if err != nil || !before.Fixable() {
		return before, err
	}
	backup, failures, err := p.mend(ctx, before)
	if err != nil {
		return before, err
	}
	after, err := Examine(ctx, p)
	after.Backup, after.Failures = backup, failures
	if err != nil {
		return after, err
	}
	for _, f := range before.Findings {
		if i := slices.IndexFunc(after.Findings, func(g Finding) bool { return g.Code == f.Code && g.Where == f.Where }); i < 0 {
			after.Fixed = append(after.Fixed, f)
		} else if after.Findings[i].Advice != "" { // Treat could not fix it
			after.Findings[i].Fix = ""
		}
	}
	return after, nil
}

// mend applies the fixes. backup is the name that the database got which was replaced.
func (p Patient) mend(ctx context.Context, r Report) (backup string, failures []string, err error) {
	fail := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			failures = append(failures, what+": "+sqldb.WithoutHint(err))
		}
	}
	anew := false
	for _, f := range r.Findings {
		anew = anew || f.Fix != "" && !slices.Contains(inPlace, f.Code)
		if mask := map[string]os.FileMode{"permissions": 0o077, "directory": 0o022}[f.Code]; mask != 0 {
			info, err := os.Stat(f.Where)
			if err == nil {
				err = os.Chmod(f.Where, info.Mode().Perm()&^mask)
			}
			fail(f.Where, err)
		}
	}
	mendOpen := func(path string) error {
		db, err := sqlite.Open(ctx, path, p.Options)
		if err != nil {
			return err
		}
		fail("the search index", db.RepairIndex(ctx))
		fail("the summaries", p.remake(ctx, db))
		return errors.Join(db.Close(), ctx.Err())
	}
	if !anew {
		if r.Opened {
			err = mendOpen(p.Path)
		}
		return "", failures, err
	}
	backup = BackupPath(p.Path, p.now(), "before-fix")
	built, err := move.Fix(ctx, p.Path, backup, mendOpen)
	if err == nil {
		for _, f := range built.Damage {
			if f.Code == "lost" { // it is in no table, so that nothing else names it
				failures = append(failures, f.Detail)
			}
		}
	}
	if errors.Is(err, store.ErrDamaged) { // nothing can be read
		fail("the database", err)
		return "", failures, nil
	}
	return backup, failures, err
}

// remake rewrites the summaries whose texts are damaged, and goes on after an error.
func (p Patient) remake(ctx context.Context, db *sqlite.DB) error {
	faults, err := db.Check(ctx)
	if err != nil {
		return err
	}
	var ids []store.SummaryID
	for _, f := range faults {
		if strings.HasPrefix(f.Code, "summary-") && slices.Contains(inPlace, f.Code) && !slices.Contains(ids, store.SummaryID(f.Node)) {
			ids = append(ids, store.SummaryID(f.Node))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	by := map[store.ConversationID][]store.SummaryID{}
	var errs []error
	for _, id := range ids {
		for s, err := range db.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{id}}) {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			by[s.Conversation] = append(by[s.Conversation], s.ID)
		}
	}
	runner, err := compact.NewRunner(compact.Config{Store: db, Counter: p.Counter})
	if err != nil {
		return err
	}
	// Origins come before forks: a fork's summaries may have them as sources.
	for _, conversation := range slices.Sorted(maps.Keys(by)) {
		if err := runner.Remake(ctx, conversation, by[conversation]); err != nil {
			errs = append(errs, fmt.Errorf("conversation %d: %w", conversation, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}
