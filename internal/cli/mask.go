package cli

import (
	"context"

	"github.com/lossless-context/lcm/internal/cli/doctor"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// masksSecrets finds secrets, and leaves private blocks alone.
var masksSecrets = privacy.Redactor{Secrets: true, KeepPrivate: true}

// masked takes the secrets out of a record that is masked, or that the settings mask.
func (rec *openRecord) masked(m store.Message, record []byte) ([]byte, bool) {
	if m.Flags&store.FlagMasked == 0 && privacy.Mode(rec.cfg.Ingest.Redact) == privacy.Off {
		return record, false
	}
	if clean, _ := masksSecrets.Text(record); clean != nil {
		return clean, true
	}
	return record, false
}

// maskedData is masked for the content of a file.
func (rec *openRecord) maskedData(data []byte) []byte {
	if privacy.Mode(rec.cfg.Ingest.Redact) != privacy.Off {
		if clean, _ := masksSecrets.Data(data); clean != nil {
			return clean
		}
	}
	return data
}

// maxUnmasked is how many messages that show secrets are counted.
const maxUnmasked = 1000

// unmasked finds messages with secrets that were stored before the settings masked them.
func (cmd *doctorCommand) unmasked(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	if privacy.Mode(cfg.Ingest.Redact) == privacy.Off {
		return nil
	}
	rec, err := newOpenRecord(cfg, db, cmd.logger(cfg))
	if err != nil {
		return nil // the settings are told about elsewhere
	}
	n, err := rec.engine.Unmasked(ctx, maxUnmasked)
	if err != nil || n == 0 {
		return nil // unreadable messages are a finding of their own
	}
	many := prose.Count(n, "message shows", "messages show")
	if n == maxUnmasked {
		many = "at least " + many
	}
	return []doctor.Finding{{
		Code: "unmasked", Severity: doctor.Note, Where: cfg.Storage.DatabasePath, Message: many + " secrets: stored before these were masked",
		Advice: "`lcm doctor --mask` masks them in searches, summaries and answers; the records stay as they are",
	}}
}

// maskOlder masks them.
func (cmd *doctorCommand) maskOlder(ctx context.Context, cfg *config.Config) (n int, err error) {
	bar := cmd.newBar("masking")
	defer bar.clear()
	err = cmd.useWith(ctx, cfg, toRead, func(rec *openRecord) error {
		n, err = rec.engine.MaskOlder(ctx, bar.stage)
		return err
	})
	return n, err
}
