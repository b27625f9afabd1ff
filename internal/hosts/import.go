package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// pending is a transcript with new records.
type pending struct {
	t    Transcript
	sum  *Summary
	from int64 // bytes that were already read
}

// All catches up with every transcript that the filter selects, and returns a summary for
// each host. An unreadable transcript is a failure in it and stops no other.
func (f *Feed) All(ctx context.Context, filter Filter, told func(Progress)) ([]Summary, error) {
	sums, todo, err := f.survey(ctx, filter)
	if err != nil {
		return nil, err
	}
	if told == nil {
		told = func(Progress) {}
	}
	p := Progress{SessionTotal: len(todo)}
	for _, one := range todo {
		p.Total += one.size()
		if filter.DryRun {
			one.sum.Bytes += one.size()
		}
	}
	if filter.DryRun {
		return sums, nil
	}
	// All waits last for transcripts that another process reads: it may die.
	for i := 0; i < len(todo); i++ {
		one := todo[i]
		r, err := f.catchUp(ctx, one.t, Limits{Wait: i >= p.SessionTotal}, func(r Report) {
			now := p
			now.Bytes, now.Records = p.Bytes+min(r.Bytes, one.size()), p.Records+r.Records
			told(now)
		})
		if one.sum.add(r); r.New > 0 {
			one.sum.Changed = append(one.sum.Changed, r.Conversation)
		}
		p.Records += r.Records
		switch {
		case ctx.Err() != nil:
			return sums, ctx.Err()
		case err != nil && !errors.As(err, new(*readError)):
			return sums, err
		case err != nil:
			one.sum.Failures = append(one.sum.Failures, Failure{one.t.Path, err})
		case r.Busy:
			todo = append(todo, one)
			continue
		}
		p.Bytes += one.size()
		p.Sessions++
	}
	told(p)
	return sums, nil
}

// size is about how many bytes are left to read.
func (p pending) size() int64 { return max(0, p.t.Size-p.from) }

// survey finds the transcripts with new records.
func (f *Feed) survey(ctx context.Context, filter Filter) (sums []Summary, todo []pending, err error) {
	for _, name := range filter.Hosts {
		if _, err := f.Host(name); err != nil {
			return nil, nil, err
		}
	}
	cursors, err := f.cursors(ctx)
	if err != nil {
		return nil, nil, err
	}
	sums = make([]Summary, 0, len(f.hosts)) // pending points into it, so it must not grow
	for _, h := range f.hosts {
		if len(filter.Hosts) > 0 && !slices.Contains(filter.Hosts, h.About().Name) {
			continue
		}
		in := h.Find(f.machine)
		sums = append(sums, Summary{Host: h.About().Name, Title: h.About().Title, Present: in.Present})
		sum := &sums[len(sums)-1]
		have, unread := map[string]bool{}, []string(nil)
		for t, err := range f.found(ctx, h, in, filter.Path) {
			if ctx.Err() != nil {
				return sums, nil, ctx.Err()
			}
			have[t.Key()] = true
			if err != nil {
				unread = append(unread, cmp.Or(t.Path, in.Data))
				sum.Failures = append(sum.Failures, Failure{t.Path, err})
				continue
			}
			c := cursors[t.Key()]
			if !f.selects(ctx, filter, h, t, c) {
				continue
			}
			sum.Sessions++
			if c.unchanged(t) {
				sum.Unchanged++
				continue
			}
			one := pending{t: t, sum: sum}
			if c.Path == t.Path {
				one.from = min(c.Size, t.Size)
			}
			todo = append(todo, one)
		}
		if filter.Path == "" {
			if sum.Lost, err = f.lost(ctx, cursors, sum.Host, in.Data, have, unread); err != nil {
				return nil, nil, err
			}
			sum.Deleted = len(Resumable(sum.Lost))
		}
	}
	oldestFirst(todo)
	return sums, todo, nil
}

// oldestFirst sorts transcripts by the time of their last record, because searches take
// the session stored last as the newest. Sub-agents follow their session.
func oldestFirst(todo []pending) {
	written := map[string]time.Time{}
	for _, p := range todo {
		written[p.t.Host+":"+p.t.Session] = p.t.Modified
	}
	at := func(t Transcript) time.Time {
		if parent, ok := written[t.Host+":"+t.Parent]; ok && t.Parent != "" {
			return parent
		}
		return t.Modified
	}
	slices.SortStableFunc(todo, func(a, b pending) int {
		return cmp.Or(at(a.t).Compare(at(b.t)), ParentsFirst(a.t, b.t))
	})
}

// ParentsFirst orders sessions before their sub-agents: they know title and project.
func ParentsFirst(a, b Transcript) int {
	return cmp.Compare(min(len(a.Parent), 1), min(len(b.Parent), 1))
}

func (f *Feed) selects(ctx context.Context, filter Filter, h Host, t Transcript, c cursor) bool {
	if !filter.Since.IsZero() && t.Modified.Before(filter.Since) {
		return false
	}
	return filter.Project == nil || sameProject(*filter.Project, f.projectOf(f.peek(ctx, h, t, c).Dir))
}

func sameProject(a, b store.Project) bool {
	return a.Origin != "" && a.Origin == b.Origin || a.Root != "" && a.Root == b.Root
}

// add adds the result of a transcript.
func (s *Summary) add(r Report) {
	for _, size := range r.TooLong {
		err := fmt.Errorf("a record of %d bytes is too large to be stored and was left out", size)
		s.Failures = append(s.Failures, Failure{r.Transcript.Path, err})
	}
	if r.Ignored != "" {
		s.Ignored++
	}
	s.Counts.add(r.Counts)
}

// Recent returns the readable transcripts that the filter selects, newest first.
func (f *Feed) Recent(ctx context.Context, filter Filter) ([]Transcript, error) {
	cursors, err := f.cursors(ctx)
	if err != nil {
		return nil, err
	}
	var recent []Transcript
	for _, h := range f.hosts {
		if len(filter.Hosts) > 0 && !slices.Contains(filter.Hosts, h.About().Name) {
			continue
		}
		for t, err := range f.found(ctx, h, h.Find(f.machine), filter.Path) {
			if err == nil && f.selects(ctx, filter, h, t, cursors[t.Key()]) {
				recent = append(recent, t)
			}
		}
	}
	slices.SortStableFunc(recent, func(a, b Transcript) int { return b.Modified.Compare(a.Modified) })
	return recent, ctx.Err()
}

// found yields the transcripts of an installation, or those below a path.
func (f *Feed) found(ctx context.Context, h Host, in Installation, path string) iter.Seq2[Transcript, error] {
	if path == "" {
		return h.Transcripts(ctx, in)
	}
	return func(yield func(Transcript, error) bool) {
		// Report files that cannot be read, and continue. Do not follow links.
		_ = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			var ts []Transcript
			if err == nil {
				if !e.Type().IsRegular() && file != path || e.IsDir() {
					return nil
				}
				ts, err = h.In(ctx, file)
			}
			if err != nil && !errors.Is(err, ErrNoTranscript) && !yield(Transcript{Host: h.About().Name, Path: file}, err) {
				return fs.SkipAll
			}
			for _, t := range ts {
				if !yield(t, nil) {
					return fs.SkipAll
				}
			}
			return nil
		})
	}
}
