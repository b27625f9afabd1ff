package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/ingest"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/store"
)

// A batch is stored in one transaction. It is bounded in both ways so that
// memory does not depend on the size of the messages either.
const (
	batchMessages = 1000
	batchBytes    = 16 << 20
)

// importer stores what is new of a source in one conversation.
type importer struct {
	*archive
	session *lcm.Session
	conv    store.ConversationID
	bar     *bar
	total   int
	done    int
	report  importReport

	batch []llms.Message
	bytes int
}

// run stores messages with ids by those. Without, a history that continues
// what is stored is stored from there on, in batches; any other is aligned as
// a whole.
func (in *importer) run(ctx context.Context, src *source, plan survey) error {
	skip := 0
	if !plan.ids {
		shared, differs, err := in.shared(ctx, src)
		if err != nil {
			return err
		}
		if differs {
			return in.align(ctx, src)
		}
		skip = shared
	}
	in.report.Known, in.done = skip, skip
	err := src.each(&transcript{name: src.name}, func(m llms.Message) error {
		if skip > 0 {
			skip--
			return nil
		}
		return in.add(ctx, m)
	})
	if err != nil {
		return err
	}
	return in.flush(ctx)
}

func (in *importer) add(ctx context.Context, m llms.Message) error {
	in.batch = append(in.batch, m)
	in.bytes += len(m.Raw.Bytes)
	if len(in.batch) < batchMessages && in.bytes < batchBytes {
		return nil
	}
	return in.flush(ctx)
}

func (in *importer) flush(ctx context.Context) error {
	if len(in.batch) == 0 {
		return ctx.Err()
	}
	done, err := in.session.AppendInputs(ctx, ingest.Messages(in.batch...)...)
	if err != nil {
		return err
	}
	for _, d := range done {
		if d.Existed {
			in.report.Known++
		} else {
			in.report.New++
		}
	}
	in.done += len(in.batch)
	in.batch, in.bytes = in.batch[:0], 0
	in.bar.set(int64(in.done), int64(in.total), number(in.done)+" messages")
	return nil
}

// shared counts how many messages the source and the conversation have in
// common at their beginning, reading both side by side. differs says that the
// conversation goes on in another way.
func (in *importer) shared(ctx context.Context, src *source) (n int, differs bool, err error) {
	next, stop := iter.Pull2(in.db.Messages(ctx, store.MessageQuery{Conversation: in.conv}))
	defer stop()
	ended := errors.New("what is stored has ended")
	err = src.each(&transcript{name: src.name}, func(m llms.Message) error {
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

// sameMessage compares a stored message with one that was read, by record or
// by what they say.
func sameMessage(stored store.Message, m llms.Message) bool {
	if stored.SHA256 == sha256.Sum256(m.Raw.Bytes) {
		return true
	}
	a, b := stored.Body, m
	b.ID, b.Time, b.Raw, b.Meta = a.ID, a.Time, a.Raw, a.Meta
	return llms.Equal(a, b)
}

// align has the whole history matched against what is stored.
func (in *importer) align(ctx context.Context, src *source) error {
	var history []llms.Message
	err := src.each(&transcript{name: src.name}, func(m llms.Message) error {
		history = append(history, m)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	ing, err := ingest.New(in.db, in.counter, in.cfg.Ingest.LargeFileTokenThreshold)
	if err != nil {
		return err
	}
	done, err := ing.Sync(ctx, in.conv, ingest.Messages(history...), true)
	if err != nil {
		return err
	}
	in.report.New, in.report.Known = len(done.Stored), done.Existing
	in.report.Loose, in.report.Rewound = done.Loose, done.Rewound != nil
	return nil
}

// explain says how much of the input is safe.
func (in *importer) explain(err error) error {
	if in.report.New == 0 {
		return err
	}
	return fmt.Errorf("stopped after %s (they are kept, and repeating the command goes on from there): %w",
		counted(in.report.New, "new message", "new messages"), err)
}
