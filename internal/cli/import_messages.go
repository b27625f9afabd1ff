package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/lossless-context/lcm/internal/hosts/jsonl"
	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/internal/settings/engineconfig"
	"github.com/lossless-context/lcm/llms"
)

// A batch is stored in one transaction. Both bounds keep its memory small.
const (
	batchMessages = 1000
	batchBytes    = 16 << 20
)

// maxHeld is the largest file without ids that is held in memory.
const maxHeld = 64 << 20

// importer stores the new messages of a source in one conversation.
type importer struct {
	*openRecord
	ingest *ingest.Ingester
	conv   store.ConversationID
	bar    *bar
	total  int
	held   int64 // the largest input without ids that is held in memory
	report importReport

	batch []llms.Message
	bytes int
	done  int
	fresh int // new since the last that was known

	before int64 // messages that were there
}

func (rec *openRecord) newImporter(conv store.Conversation, b *bar, r importReport) (*importer, error) {
	in := &importer{openRecord: rec, conv: conv.ID, before: conv.Messages, bar: b, total: r.Read, held: maxHeld, report: r}
	var err error
	in.ingest, err = ingest.New(rec.db, rec.counter, rec.cfg.Ingest.LargeFileTokenThreshold, ingest.WithPrivacy(engineconfig.Privacy(rec.cfg)))
	return in, err
}

// importLease is how long a killed import blocks others of the same conversation.
const importLease = time.Minute

// run stores messages with ids by their ids. It aligns a history without ids as a whole,
// and appends one that is too large for that in batches.
func (in *importer) run(ctx context.Context, src *source, plan survey) (err error) {
	if plan.ids {
		return in.append(ctx, src, 0)
	}
	if src.size <= in.held {
		return in.align(ctx, src)
	}
	// Two imports of one file at once would both store it.
	leases := &lease.Leases{State: in.db, Space: store.ImportSpace, Clock: time.Now, Owner: process.Owner(), Ended: process.Ended, TTL: importLease}
	mine, err := leases.Take(ctx, fmt.Sprint(in.conv), true)
	if err != nil {
		return err
	}
	stop := mine.Keep(ctx)
	defer func() { err = errors.Join(err, stop(), mine.Release(ctx)) }()
	shared, differs, err := in.shared(ctx, src)
	switch {
	case err != nil:
		return err
	case differs:
		return in.align(ctx, src)
	}
	return in.append(ctx, src, shared)
}

// append stores the messages after those that are known.
func (in *importer) append(ctx context.Context, src *source, skip int) error {
	in.report.Known, in.done = skip, skip
	err := src.each(&jsonl.Reader{Name: src.name}, func(m llms.Message) error {
		if skip > 0 {
			skip--
			return nil
		}
		in.batch = append(in.batch, m)
		if in.bytes += len(m.Raw.Bytes); len(in.batch) < batchMessages && in.bytes < batchBytes {
			return nil
		}
		return in.flush(ctx)
	})
	if err != nil {
		return err
	}
	return in.flush(ctx)
}

func (in *importer) flush(ctx context.Context) error {
	if len(in.batch) == 0 {
		return ctx.Err()
	}
	done, err := in.ingest.Append(ctx, in.conv, ingest.Messages(in.batch...)...)
	if err != nil {
		return err
	}
	for _, d := range done.Messages {
		switch {
		case !d.Existed:
			in.report.New++
			in.fresh++
			continue
		case d.Seq <= in.before: // not one that the input itself has twice
			in.report.Late += in.fresh
			in.fresh = 0
		}
		in.report.Known++
	}
	in.done += len(in.batch)
	in.batch, in.bytes = in.batch[:0], 0
	in.bar.set(int64(in.done), int64(in.total), prose.Number(in.done)+" messages")
	return nil
}

// shared counts the messages with which the source and the conversation both begin.
// differs says that the conversation then goes on with others.
func (in *importer) shared(ctx context.Context, src *source) (n int, differs bool, err error) {
	next, stop := iter.Pull2(in.db.Messages(ctx, store.MessageQuery{Conversation: in.conv}))
	defer stop()
	ended := errors.New("what is stored has ended")
	err = src.each(&jsonl.Reader{Name: src.name}, func(m llms.Message) error {
		stored, err, ok := next()
		switch {
		case !ok:
			return ended
		case err != nil:
			return err
		case !sameMessage(stored, m):
			differs = true
			return ended
		}
		n++
		return nil
	})
	if errors.Is(err, ended) {
		err = nil
	}
	return n, differs, err
}

// sameMessage compares a stored message with one that was read.
func sameMessage(stored store.Message, m llms.Message) bool {
	if stored.SHA256 == sha256.Sum256(m.Raw.Bytes) {
		return true
	}
	a, b := stored.Body, m
	b.ID, b.Time, b.Raw, b.Meta = a.ID, a.Time, a.Raw, a.Meta
	return wire.Equal(a, b)
}

// align aligns the whole history with the stored one.
func (in *importer) align(ctx context.Context, src *source) error {
	var history []llms.Message
	err := src.each(&jsonl.Reader{Name: src.name}, func(m llms.Message) error {
		history = append(history, m)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	done, err := in.ingest.Sync(ctx, in.conv, ingest.Messages(history...), true)
	if err != nil {
		return err
	}
	in.report.New = len(done.Stored)
	in.report.Known = len(history) - in.report.New
	in.report.Loose, in.report.Late, in.report.Rewound = done.Loose, done.Late, done.Rewound != nil
	return nil
}

// explain says how much of the input is safe.
func (in *importer) explain(err error) error {
	if in.report.New == 0 {
		return err
	}
	return fmt.Errorf("stopped after %s (they are kept, and repeating the command goes on from there): %w",
		prose.Count(in.report.New, "new message", "new messages"), err)
}
