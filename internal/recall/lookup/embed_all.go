package lookup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

const (
	// embedRead is how many messages are read at a time.
	embedRead = 64
	// embedWait is how long one call of the embedding model may take when nobody
	// waits for an answer.
	embedWait = 2 * time.Minute
)

// EmbedAll embeds all messages that the index lacks, the newest first. It stores
// the vectors of every batch, so that a run that ends early, whatever the reason,
// loses nothing: the next one goes on where it stopped.
func (r *Reranker) EmbedAll(ctx context.Context, from Store, limits recall.EmbedLimits) (recall.EmbedReport, error) {
	run := embedRun{Reranker: r, from: from, limits: limits}
	pending, err := r.vectors.PendingBlocks(ctx, r.embedder.Name())
	if err != nil {
		return run.report, err
	}
	run.report.Waiting = store.WaitingMessages(pending)
	for _, b := range pending {
		if err == nil && !run.over() {
			err = run.block(ctx, b)
		}
	}
	ctx = context.WithoutCancel(ctx)
	have, failed := r.vectors.VectorStatus(ctx, r.embedder.Name())
	pending, again := r.vectors.PendingBlocks(ctx, r.embedder.Name())
	run.report.Waiting, run.report.Indexed, run.report.Bytes = store.WaitingMessages(pending), have.Messages, have.Bytes
	return run.report, errors.Join(err, failed, again)
}

// embedRun is a run of EmbedAll.
type embedRun struct {
	*Reranker
	from   Store
	limits recall.EmbedLimits
	report recall.EmbedReport
	worked bool // the model has embedded a text
}

// over reports that a limit is reached.
func (run *embedRun) over() bool {
	l := run.limits
	return l.Messages > 0 && run.report.Messages >= int64(l.Messages) || !l.Until.IsZero() && !time.Now().Before(l.Until)
}

// block embeds the messages of a block from the first to the last, and stores it
// as far as it came.
func (run *embedRun) block(ctx context.Context, b store.VectorBlock) error {
	ids, err := run.vectors.BlockMessages(ctx, b)
	if err != nil {
		return err
	}
	done := b.Through - store.MessageID(b.New) // the index has the messages up to here
	var vectors []store.MessageVector
	through, whole := store.MessageID(0), true
	for chunk := range slices.Chunk(ids, embedRead) {
		if run.over() {
			whole = false
			break
		}
		got, failed := run.messages(ctx, chunk)
		if failed != nil {
			err, whole = failed, false
			break
		}
		vectors, through = append(vectors, got...), chunk[len(chunk)-1]
		known, _ := slices.BinarySearch(chunk, done+1)
		fresh := int64(len(chunk) - known)
		run.report.Messages, run.report.Waiting = run.report.Messages+fresh, max(0, run.report.Waiting-fresh)
		if run.limits.OnProgress != nil {
			run.limits.OnProgress(run.report)
		}
	}
	if whole {
		through = b.Through
	}
	if through <= done {
		return err // nothing is new
	}
	b.Through = through
	return errors.Join(err, run.vectors.PutBlock(context.WithoutCancel(ctx), run.embedder.Name(), b, vectors))
}

// messages returns the vectors of messages. Bookkeeping of hosts and messages
// without text have none.
func (run *embedRun) messages(ctx context.Context, ids []store.MessageID) ([]store.MessageVector, error) {
	texts := map[store.MessageID]*messageText{}
	for m, err := range run.from.Messages(ctx, store.MessageQuery{IDs: ids, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		if !m.Flags.Bookkeeping(m.Body.Role) {
			texts[m.ID] = newMessageText(m)
		}
	}
	if err := run.embed(ctx, texts, run.patient); err != nil {
		return nil, err
	}
	var out []store.MessageVector
	for _, t := range texts {
		if t.vector != nil {
			out = append(out, store.MessageVector{Message: t.id, Flags: t.flags, Text: t.hash, Vector: bytesOf(t.vector)})
		}
	}
	return out, nil
}

// patient embeds texts. Where the model refuses a batch it is asked for each text,
// and those that it refuses again are left out: one text that is too long for it
// must not keep all others out.
func (run *embedRun) patient(ctx context.Context, texts []string) ([][]int8, error) {
	ctx, cancel := context.WithTimeout(ctx, embedWait)
	defer cancel()
	run.report.Sent += int64(len(texts))
	out, err := run.ask(ctx, texts)
	if err == nil {
		run.worked = true
		return out, nil
	}
	if !refused(err) {
		return nil, err
	}
	out = make([][]int8, len(texts))
	for i, text := range texts {
		one, failed := run.ask(ctx, []string{text})
		switch {
		case failed == nil:
			run.worked, out[i] = true, one[0]
		case !refused(failed):
			return nil, failed
		default:
			run.report.Refused++
		}
	}
	if !run.worked { // it refuses everything: the settings are wrong
		return nil, err
	}
	return out, nil
}

// refused reports that a model does not take a text.
func refused(err error) bool {
	var e *llms.Error
	return errors.As(err, &e) && (e.Class == llms.ClassInvalid || e.Class == llms.ClassContextLength)
}
