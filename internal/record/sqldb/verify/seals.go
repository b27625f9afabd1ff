package verify

import (
	"bytes"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/store"
)

// named checks what the conversation is called and belongs to.
func (v *verifier) named() error {
	if !bytes.Equal(v.Seal, seal.Conversation(v.Row.Conversation)) {
		v.Fault("session", v.name(), "its session key, agent, title or project is not the one that it was opened with")
	}
	return nil
}

// revisions checks the earlier texts of a summary: each seal holds the hash of the text
// before it.
func (v *verifier) revisions(n SummaryNode) error {
	var last []byte // the hash of the text before
	err := v.Query(`SELECT revision, body, tokens, level, method, model, tokens_in, tokens_out, seal FROM revisions WHERE summary = ? ORDER BY revision`, func(s sqldb.Row) error {
		var revision int
		var w store.Wording
		var have []byte
		sqldb.Scan(s, &revision, &w.Body, &w.Tokens, &w.Level, &w.Method, &w.Model, &w.TokensIn, &w.TokensOut, &have)
		if want := seal.Text(last, n.ID, n.CreatedAt, revision, w); !bytes.Equal(have, want) {
			v.Fault("revision", string(n.ID), "its earlier text %d was changed, or one before it is missing", revision)
		}
		last = bytes.Clone(seal.Hash(have))
		return nil
	}, n.Num)
	if err == nil && !seal.Follows(n.Seal, last) {
		v.Fault("revision", string(n.ID), "an earlier text of it is missing")
	}
	return err
}
