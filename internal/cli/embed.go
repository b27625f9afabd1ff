package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/internal/settings/fromconfig"
	"github.com/lossless-context/lcm/recall"
)

type embedCommand struct {
	*program
	messages int
	period   time.Duration
}

func newEmbed(p *program) *cobra.Command {
	cmd := &embedCommand{program: p}
	c := &cobra.Command{
		Use:   "embed",
		Short: "Compute embeddings for semantic search",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, args []string) error {
			if cmd.messages < 0 || cmd.period < 0 {
				return wrongUsage(c, errors.New("--messages and --for take no negative values"))
			}
			return cmd.runs(toRead, cmd.run)(c, args)
		},
	}
	c.Flags().IntVarP(&cmd.messages, "messages", "n", 0, "stop after about so many messages (default: all)")
	c.Flags().DurationVar(&cmd.period, "for", 0, "stop after this time, like 10m or 1h30m (default: when all is done)")
	return cmd.jsonFlag(c)
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
	limits := recall.EmbedLimits{Messages: cmd.messages, OnProgress: func(r recall.EmbedReport) {
		total := r.Messages + r.Waiting
		if cmd.messages > 0 {
			total = min(total, int64(cmd.messages))
		}
		bar.set(r.Messages, total, prose.Count(int(r.Messages), "message", "messages"))
	}}
	if cmd.period > 0 {
		limits.Until = time.Now().Add(cmd.period)
	}
	r, err := rec.engine.Embed(ctx, limits)
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

// unembedded finds that `lcm db embed` was run, and that messages were stored since.
func unembedded(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	e := fromconfig.Embedder(cfg, db)
	if e == nil {
		return nil
	}
	st, err := db.VectorStatus(ctx, e.Name())
	if err != nil || st.Messages == 0 {
		return nil // it is optional; unreadable tables are a finding of their own
	}
	pending, err := db.PendingBlocks(ctx, e.Name())
	waiting := store.WaitingMessages(pending)
	if err != nil || waiting == 0 {
		return nil
	}
	return []doctor.Finding{{
		Code: "unembedded", Severity: doctor.Note, Where: cfg.Storage.DatabasePath,
		Message: fmt.Sprintf("about %s no vector of %s yet: only words find them", prose.Count(int(waiting), "message has", "messages have"), e.Name()),
		Advice:  "`lcm db embed` embeds them",
	}}
}
