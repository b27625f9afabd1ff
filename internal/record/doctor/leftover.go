package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/store"
)

// abandonedAfter is how long an abandoned copy has not changed.
const abandonedAfter = time.Hour

// leftovers finds unfinished copies beside the database and among its backups. They may
// hold content that was erased since.
func (p Patient) leftovers() []store.Fault {
	var faults []store.Fault
	for _, dir := range p.copyDirs() {
		all, err := backup.LeftOvers(dir)
		if err != nil {
			continue // an unreadable directory is not a fault of the database
		}
		for _, l := range all {
			written := l.Written.UTC().Format(time.RFC3339)
			if p.abandoned(l) {
				faults = append(faults, store.Fault{Code: "part-file", Node: l.Path, Detail: fmt.Sprintf(
					"a backup, restore, export or import was cut off and left %d bytes, last written at %s; they may hold what was erased since", l.Bytes, written)})
			} else {
				faults = append(faults, store.Fault{Code: "part-file-young", Node: l.Path, Detail: fmt.Sprintf(
					"it was written to within the last hour (%s): a backup, restore, export or import is at work, or was cut off", written)})
			}
		}
	}
	return faults
}

// copyDirs lists the directories in which copies of the database are written.
func (p Patient) copyDirs() []string {
	return []string{filepath.Dir(p.Path), filepath.Dir(BackupPath(p.Path, time.Time{}, ""))}
}

func (p Patient) abandoned(l backup.LeftOver) bool {
	return l.Written.Before(p.now().Add(-abandonedAfter))
}

// keepUnfinished keeps unfinished copies of a damaged database, which may hold lost data.
func (r *Report) keepUnfinished() {
	if r.Healthy() && !r.has("absent") {
		return
	}
	for i, f := range r.Findings {
		if f.Code == "part-file" {
			r.Findings[i].Fix, r.Findings[i].Advice = "", "it is kept as long as the database is not sound, because it may hold what is missing"
		}
	}
}

// removeLeftovers removes the unfinished copies that the report offers to remove.
func (p Patient) removeLeftovers(r *Report) {
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		if f.Code != "part-file" || f.Fix == "" {
			return false
		}
		if err := p.removeUnfinished(f.Where); err != nil {
			r.Failures = append(r.Failures, f.Where+": "+sqldb.WithoutHint(err))
			return false
		}
		return true
	})
}

// removeUnfinished removes an unfinished copy, unless it has changed since.
func (p Patient) removeUnfinished(path string) error {
	all, err := backup.LeftOvers(filepath.Dir(path))
	i := slices.IndexFunc(all, func(l backup.LeftOver) bool { return l.Path == path })
	switch {
	case err != nil || i < 0:
		return err
	case !p.abandoned(all[i]):
		return errors.New("it was written to since, and was kept")
	}
	return all[i].Remove()
}
