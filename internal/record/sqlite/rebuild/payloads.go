package rebuild

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// fixPayloads makes the row of each payload fit its content, and links payloads to the
// messages that refer to them.
func fixPayloads(c *dbfile.Conn) error {
	list, err := rows.PayloadRows(c, "TRUE")
	if err != nil {
		return err
	}
	lost, err := sqldb.Column[int64](c, `SELECT DISTINCT payload FROM chunks WHERE payload NOT IN (SELECT num FROM payloads)`)
	if err != nil {
		return err
	}
	for _, num := range lost {
		list = append(list, rows.PayloadRow{Num: num})
	}
	for _, p := range list {
		found, err := rows.ReadContent(c, p)
		if err == nil {
			err = fixPayload(c, p, found)
		} else if !errors.As(err, new(*sqlite3.Error)) {
			err = nil // the content is not whole
		}
		if err != nil {
			return err
		}
	}
	return fixReferences(c)
}

// fixPayload corrects the row of a payload whose content is sound, or makes it again with
// the id that the hash gives.
func fixPayload(c *dbfile.Conn, p rows.PayloadRow, found rows.FoundContent) error {
	right := rows.PayloadRow{Num: p.Num, ID: p.ID, Sum: found.Sum, Size: found.Size}
	if p.ID != "" && found.Sum != p.Sum && !right.Named() {
		return nil // neither hash nor id matches it
	}
	if !right.Named() {
		right.ID = fmt.Sprintf("file_%x", found.Sum[:8])
	}
	if right != p {
		err := c.Exec(`
			INSERT INTO payloads (num, id, sha256, size, mime, name, path, kind, summary, tokens, created_at)
			SELECT ?1, ?2, ?3, ?4, '', '', '', '', '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM payloads WHERE sha256 = ?3 AND num <> ?1)
			ON CONFLICT (num) DO UPDATE SET id = ?2, sha256 = ?3, size = ?4`, right.Num, right.ID, right.Sum[:], right.Size)
		if err == nil { // a row that was made anew
			err = seal.Payloads.Again(c, "f.num = ? AND f.created_at = 0", right.Num)
		}
		if err != nil {
			return err
		}
	}
	if found.More {
		if err := c.Exec(`DELETE FROM chunks WHERE payload = ? AND n * ? >= ?`, p.Num, rows.ChunkSize, p.Size); err != nil {
			return err
		}
	}
	if !found.Mislabelled {
		return nil
	}
	return c.Exec(`UPDATE chunks SET compressed = (substr(data, 1, 4) = ?) WHERE payload = ?`, rows.ZstdMagic, p.Num)
}

// fixReferences links payloads to the messages that need them, and restores
// their names and descriptions.
func fixReferences(c *dbfile.Conn) error {
	type need struct {
		message int64
		refs    []llms.Ref
		ids     []string
	}
	all, err := sqldb.List(c, `SELECT id, body, cuts FROM messages WHERE body IS NOT NULL OR cuts IS NOT NULL ORDER BY id`, func(s sqldb.Row) need {
		n := need{message: s.ColumnInt64(0)}
		if m, err := wire.Decode(llms.FormatLCM, "", s.ColumnBlob(1, nil)); err == nil { // else Verify reports it
			n.refs = store.Refs(m.Parts)
		}
		n.ids = verify.Needs(n.refs, s.ColumnText(2))
		return n
	})
	if err != nil {
		return err
	}
	for _, n := range all {
		if err := sqldb.Each(n.ids, func(id string) error { return rows.LinkPayload(c, n.message, id) }); err != nil {
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
				err = seal.Payloads.Keep(c, "f.id = ?", func() error {
					return c.Exec(`UPDATE payloads SET name = ?, mime = ?, summary = ?, tokens = ? WHERE id = ?`, ref.Name, ref.MIME, ref.Note, ref.Tokens, ref.ID)
				}, ref.ID)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
