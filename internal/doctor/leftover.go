package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/sqlite/backup"
	"github.com/lossless-context/lcm/internal/store"
)

// abandonedAfter is how long nobody has written to an unfinished copy that
// nobody is writing any more.
const abandonedAfter = time.Hour

// leftovers finds unfinished copies beside the database and among its backups.
// Whoever was killed while writing one will not remove it, and it may hold what
// was erased since.
func (p Patient) leftovers() []store.Fault {
	var faults []store.Fault
	for _, dir := range p.places() {
		all, err := backup.LeftOvers(dir)
		if err != nil {
			continue // a directory that may not be listed is no fault of the database
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

// places are the directories that copies of the database are written in.
func (p Patient) places() []string {
	return []string{filepath.Dir(p.Path), filepath.Dir(BackupPath(p.Path, time.Time{}, ""))}
}

func (p Patient) abandoned(l backup.LeftOver) bool {
	return l.Written.Before(p.now().Add(-abandonedAfter))
}

// keepParts promises to remove no unfinished copy of a database that is
// damaged or not there: it may hold what is missing.
func (r *Report) keepParts() {
	if r.Healthy() && !r.has("absent") {
		return
	}
	for i, f := range r.Findings {
		if f.Code == "part-file" {
			r.Findings[i].Fix, r.Findings[i].Advice = "", "it is kept as long as the database is not sound, because it may hold what is missing"
		}
	}
}

// sweep removes the unfinished copies that the report promises to remove.
func (p Patient) sweep(r *Report) {
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		if f.Code != "part-file" || f.Fix == "" {
			return false
		}
		if err := p.removePart(f.Where); err != nil {
			r.Failures = append(r.Failures, f.Where+": "+message(err))
			return false
		}
		return true
	})
}

// removePart removes an unfinished copy, unless somebody has written to it by
// now.
func (p Patient) removePart(path string) error {
	all, err := backup.LeftOvers(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Path != path {
			continue
		}
		if !p.abandoned(l) {
			return fmt.Errorf("it has been written to since and was left")
		}
		return l.Remove()
	}
	return nil
}
