package cli

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/doctor"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/redact"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
)

// masked takes the secrets out of a record where only --raw is to show them:
// the message is masked, or the settings want it to be.
func (ar *archive) masked(m store.Message, record []byte) ([]byte, bool) {
	if m.Flags&store.FlagMasked == 0 && redact.Mode(ar.cfg.Ingest.Redact) == redact.Off {
		return record, false
	}
	clean, _ := redact.Redactor{Secrets: true, KeepPrivate: true}.Text(record)
	if clean == nil {
		return record, false
	}
	return clean, true
}

// maskedData is masked for the content of a file.
func (ar *archive) maskedData(data []byte) []byte {
	if redact.Mode(ar.cfg.Ingest.Redact) == redact.Off {
		return data
	}
	if clean, _ := (redact.Redactor{Secrets: true, KeepPrivate: true}).Data(data); clean != nil {
		return clean
	}
	return data
}

// maxUnmasked is how many messages that show secrets are counted.
const maxUnmasked = 1000

// unmasked finds messages that show secrets, where the settings want them
// masked: they were stored before.
func (cmd *doctorCommand) unmasked(ctx context.Context, cfg *config.Config, db *sqlite.DB) []doctor.Finding {
	if db == nil || redact.Mode(cfg.Ingest.Redact) == redact.Off {
		return nil
	}
	ar, err := assembleArchive(cfg, db, cmd.logger(cfg))
	if err != nil {
		return nil // the settings are told about elsewhere
	}
	n, err := ar.engine.Unmasked(ctx, maxUnmasked)
	if err != nil || n == 0 {
		return nil // what cannot be read is a finding of its own
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
	ar, err := cmd.openWith(ctx, cfg, toRead)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, ar.close(ctx)) }()
	bar := cmd.newBar("masking")
	defer bar.clear()
	return ar.engine.MaskOlder(ctx, func(doing string) { bar.set(0, 0, doing) })
}

// ignoredFailure says what to do about a session that the settings exclude.
func ignoredFailure(err error) error {
	return failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
}
