package codex

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/wire"
)

// file is one file of a thread.
type file struct {
	path     string
	revision string // "" for the first file
}

// revisions returns the files of the thread that a rollout belongs to, in the order in
// which Codex wrote them. It finds those of other days too.
func revisions(path string) []file {
	name := rollout().FindStringSubmatch(filepath.Base(path))
	if name == nil {
		return []file{{path: path}}
	}
	thread, dir := name[1], filepath.Dir(path)
	root, days := dir, []string{dir}
	if day := filepath.Base(dir); len(day) == 2 { // sessions/2026/01/02
		root = filepath.Dir(filepath.Dir(filepath.Dir(dir)))
		found, err := filepath.Glob(filepath.Join(root, "*", "*", "*"))
		if err == nil {
			days = found
		}
	}
	var files []file
	for _, day := range days {
		if name[2] == "" && day < dir { // nothing precedes the first file
			continue
		}
		for _, f := range listed(root, day) {
			if at := rollout().FindStringSubmatch(filepath.Base(f.Path)); f.Err == nil && at != nil && at[1] == thread {
				files = append(files, file{f.Path, at[2]})
			}
		}
	}
	if len(files) == 0 {
		return []file{{path, name[2]}}
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

// add adds a file that continues the thread after the records before start.
func (l lineage) add(f file, start uint64) lineage {
	for len(l) > 0 && l[len(l)-1].start >= start {
		l = l[:len(l)-1]
	}
	return append(l, section{f, start})
}

// before returns the id of the last record before a number, or "".
func (l lineage) before(ordinal uint64) string {
	for _, s := range slices.Backward(l) {
		if s.start < ordinal {
			return s.id(ordinal - 1)
		}
	}
	return ""
}

// base returns where a revision continues its thread, from its first record.
func base(raw []byte) (ordinal uint64, ok bool) {
	v, err := wire.Members(raw, "payload")
	if err == nil {
		v, err = wire.Members(v[0], "history_base")
	}
	if err == nil {
		v, err = wire.Members(v[0], "end_ordinal_exclusive")
	}
	if err != nil {
		return 0, false
	}
	ordinal, err = strconv.ParseUint(string(v[0]), 10, 63)
	return ordinal, err == nil
}

// lineageOf returns the lineage of files that were read before.
func lineageOf(ctx context.Context, files []file) (l lineage) {
	for _, f := range files {
		start := uint64(0)
		for line, err := range lines.Read(ctx, f.path, 0, "") {
			if err == nil {
				start, _ = base(line.Bytes)
			}
			break
		}
		l = l.add(f, start)
	}
	return l
}
