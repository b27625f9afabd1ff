package main

import (
	"github.com/lossless-context/lcm/redact"
	"github.com/lossless-context/lcm/store"
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

// ignoredFailure says what to do about a session that the settings exclude.
func ignoredFailure(err error) error {
	return failed(exitConfig, "`lcm config` shows ingest.ignore_session_patterns and ingest.ignore_project_patterns, and where they are set", "%w", err)
}
