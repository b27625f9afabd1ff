package repair

import (
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/wire"
	"github.com/lossless-context/lcm/llms"
)

// fixReferences links payloads to the messages that need them, and restores
// their names and descriptions.
func fixReferences(c *dbfile.Conn) error {
	type need struct {
		message int64
		refs    []llms.Ref
		ids     []string
	}
	var all []need
	err := c.Query(`SELECT id, body, cuts FROM messages WHERE body IS NOT NULL OR cuts IS NOT NULL ORDER BY id`, func(s sqldb.Row) error {
		n := need{message: s.ColumnInt64(0)}
		if !s.ColumnNull(1) {
			m, err := wire.Decode(llms.FormatLCM, "", s.ColumnBlob(1, nil))
			if err != nil {
				return nil // Verify reports it
			}
			n.refs = verify.RefsOf(m.Parts)
		}
		n.ids = verify.Needs(n.refs, s.ColumnText(2))
		if len(n.ids) > 0 {
			all = append(all, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range all {
		if err := sqldb.Each(n.ids, func(id string) error { return record.LinkPayload(c, n.message, id) }); err != nil {
			return err
		}
	}
	for _, n := range all {
		for i, ref := range n.refs {
			if slices.ContainsFunc(n.refs[:i], func(r llms.Ref) bool { return r.ID == ref.ID }) {
				continue
			}
			same, err := verify.IsDescribed(c, n.message, ref)
			if err == nil && !same {
				err = c.Exec(`UPDATE payloads SET name = ?, mime = ?, summary = ?, tokens = ? WHERE id = ?`, ref.Name, ref.MIME, ref.Note, ref.Tokens, ref.ID)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
