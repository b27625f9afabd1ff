package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/cli/fromconfig"
	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

type embedCommand struct{ *program }

func newEmbed(p *program) *cobra.Command {
	cmd := &embedCommand{program: p}
	return cmd.jsonFlag(&cobra.Command{
		Use:   "embed",
		Short: "Compute embeddings for semantic search",
		Args:  usage(cobra.NoArgs),
		RunE:  cmd.runs(toRead, cmd.run),
	})
}

// embedLease is how long another process waits for one that has died.
const embedLease = time.Minute

func (cmd *embedCommand) run(ctx context.Context, rec *openRecord) (err error) {
	if rec.cfg.Embeddings.Model == "" {
		return failed(exitConfig, "set one, for example for Ollama: `lcm config set embeddings.base_url http://127.0.0.1:11434/v1` and `lcm config set embeddings.model all-minilm`",
			"no embedding model is set")
	}
	// Two at once would send, and pay for, every text twice.
	leases := &lease.Leases{State: rec.db, Space: store.EmbedSpace, Clock: time.Now, Owner: process.Owner(), Ended: process.Ended, TTL: embedLease}
	mine, err := leases.Take(ctx, rec.cfg.Embeddings.Model, false)
	if errors.Is(err, lease.ErrBusy) {
		return failed(exitFailure, "wait until it has ended", "another `lcm db embed` is at work on this database")
	}
	if err != nil {
		return err
	}
	stop := mine.Keep(ctx)
	defer func() { err = errors.Join(err, stop(), mine.Release(context.WithoutCancel(ctx))) }()

	bar := cmd.newBar("embedding")
	r, err := rec.engine.Embed(ctx, recall.EmbedLimits{OnProgress: func(r recall.EmbedReport) {
		bar.set(r.Messages, r.Messages+r.Waiting, prose.Count(int(r.Messages), "message", "messages"))
	}})
	bar.clear()
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w (%s done, %s stored; `lcm db embed` goes on there)", err, prose.Count(int(r.Messages), "message", "messages"), prose.Size(r.Bytes))
	}
	if err != nil {
		return err
	}
	cmd.printf("%s, %s sent; %s have vectors (%s)\n", prose.Count(int(r.Messages), "message", "messages")+" read", prose.Count(int(r.Sent), "text", "texts"),
		prose.Number(r.Indexed), prose.Size(r.Bytes))
	if r.Refused > 0 {
		cmd.note("the model refused %s: only words find those messages", prose.Count(int(r.Refused), "text", "texts"))
	}
	if r.Waiting > 0 {
		cmd.note("%s left; `lcm db embed` goes on", prose.Count(int(r.Waiting), "message is", "messages are"))
	}
	return cmd.emit(r)
}

// embeddedReport counts the messages that have a vector of the embedding model.
type embeddedReport struct {
	Model    string `json:"model"`
	Messages int64  `json:"messages"`
	Waiting  int64  `json:"waiting"`
	Bytes    int64  `json:"bytes"`
}

func (e embeddedReport) text() string {
	text := fmt.Sprintf("%s on %s (%s)", prose.Count(int(e.Messages), "message", "messages"), safetext.Line(e.Model), prose.Size(e.Bytes))
	if e.Waiting > 0 {
		text += fmt.Sprintf(", %s without a vector (`lcm db embed`)", prose.Number(e.Waiting))
	}
	return text
}

// embedded counts vectors, if there is an embedding model.
func (rec *openRecord) embedded(ctx context.Context) (*embeddedReport, error) {
	e := fromconfig.Embedder(rec.cfg, rec.db)
	if e == nil {
		return nil, nil
	}
	st, err := rec.db.VectorStatus(ctx, e.Name())
	if err != nil {
		return nil, err
	}
	pending, err := rec.db.PendingBlocks(ctx, e.Name())
	return &embeddedReport{e.Name(), st.Messages, store.WaitingMessages(pending), st.Bytes}, err
}
