package codex

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/wire"
)

// file is one file of a thread.
type file struct {
	path     string
	revision string // "" for the first file
}

// revisions returns the files of the thread that a rollout belongs to, in the order in
// which Codex wrote them.
func revisions(path string) []file {
	name := rollout().FindStringSubmatch(filepath.Base(path))
	if name == nil {
		return []file{{path: path}}
	}
	since := ""
	if name[2] == "" {
		since = filepath.Dir(path) // nothing precedes the first file
	}
	if files := filesOf(name[1], filepath.Dir(path), since); len(files) > 0 {
		return files
	}
	return []file{{path, name[2]}}
}

// filesOf returns the files of a thread. dir is a directory with rollouts: other days have
// directories beside it, and those before since are left out.
func filesOf(thread, dir, since string) (files []file) {
	root, days := dir, []string{dir}
	if day := filepath.Base(dir); len(day) == 2 { // sessions/2026/01/02
		root = filepath.Dir(filepath.Dir(filepath.Dir(dir)))
		if found, err := filepath.Glob(filepath.Join(root, "*", "*", "*")); err == nil {
			days = found
		}
	}
	for _, day := range days {
		if day < since {
			continue
		}
		for _, f := range listed(root, day) {
			if at := rollout().FindStringSubmatch(filepath.Base(f.Path)); f.Err == nil && at != nil && at[1] == thread {
				files = append(files, file{f.Path, at[2]})
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(filepath.Base(a.path), filepath.Base(b.path)) })
	return files
}

// id returns the id of a record by its number in a file.
func (f file) id(ordinal uint64) string {
	id := "ordinal:" + strconv.FormatUint(ordinal, 10)
	if f.revision != "" {
		id += "/" + f.revision
	}
	return id
}

// lineage knows which file has a record of the thread as it is now.
type lineage []section

// section is the part of a thread that begins in a file.
type section struct {
	file
	start uint64
}

// before returns the id of the last record before a number, or "": it is in the newest file
// that begins before it.
func (l lineage) before(ordinal uint64) string {
	for _, s := range slices.Backward(l) {
		if s.start < ordinal {
			return s.id(ordinal - 1)
		}
	}
	return ""
}

// history is the beginning of a thread that its first record refers to: the records of a
// thread before an ordinal.
type history struct {
	thread string
	end    uint64
}

func historyOf(raw []byte) (h history, ok bool) {
	v, err := wire.Members(raw, "payload")
	if err == nil {
		v, err = wire.Members(v[0], "history_base")
	}
	if err == nil {
		v, err = wire.Members(v[0], "thread_id", "end_ordinal_exclusive")
	}
	if err != nil {
		return h, false
	}
	h.thread = wire.Unquote(v[0])
	h.end, err = strconv.ParseUint(string(v[1]), 10, 63)
	return h, err == nil
}

// lineageOf returns the lineage of files that were read before, with that of the thread
// which theirs was forked from.
func lineageOf(ctx context.Context, files []file) (l lineage) {
	for _, f := range files {
		var h history
		for line, err := range lines.Read(ctx, f.path, 0, "") {
			if err == nil {
				h, _ = historyOf(line.Bytes)
			}
			break
		}
		if len(l) == 0 {
			l = f.origin(ctx, h)
		}
		l = append(l, section{f, h.end})
	}
	return l
}

// origin returns the lineage of the history of a file, as it was before the file, if it is
// that of another thread.
func (f file) origin(ctx context.Context, h history) lineage {
	name := rollout().FindStringSubmatch(filepath.Base(f.path))
	if name == nil || h.thread == "" || h.thread == name[1] {
		return nil
	}
	files := filesOf(h.thread, filepath.Dir(f.path), "")
	return lineageOf(ctx, slices.DeleteFunc(files, func(o file) bool { return filepath.Base(o.path) >= filepath.Base(f.path) }))
}

// begin completes the first record of a file with the history that it refers to: of its
// own thread, or of the one that the thread was forked from.
func (r *reader) begin(ctx context.Context, rec *hosts.Record, raw []byte) {
	h, ok := historyOf(raw)
	if !ok {
		return
	}
	last := r.before.before(h.end)
	if origin := r.origin(ctx, h); origin != nil {
		last = origin.before(h.end)
	}
	if r.revision != "" {
		rec.Branch, rec.After = true, last
	} else {
		rec.ForkOf, rec.ForkAt = h.thread, last
	}
}
