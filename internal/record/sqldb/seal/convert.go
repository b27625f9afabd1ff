package seal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Convert seals the rows of a database of the version before, whose seals covered less. The
// conversations, texts of summaries and tombstones that those do not prove stay without a
// seal, and so stay named as damage.
func Convert(c sqldb.Conn) error {
	sets, err := setsBefore(c)
	if err != nil {
		return err
	}
	const wording = `x.revision, x.body, x.tokens, x.level, x.method, x.model, x.tokens_in, x.tokens_out`
	names, err := rowsBefore(c, 7, `SELECT c.id, 0, c.seal, c.id, c.key, c.segment, c.agent, c.title, p.origin, p.root
		FROM conversations c LEFT JOIN projects p ON p.id = c.project`, nil)
	if err != nil {
		return err
	}
	texts, err := rowsBefore(c, 10, `SELECT x.num, 0, x.seal, x.id, x.created_at, `+wording+` FROM summaries x`, isText)
	if err != nil {
		return err
	}
	earlier, err := rowsBefore(c, 10, `SELECT x.summary, x.revision, x.seal, s.id, s.created_at, `+wording+` FROM revisions x JOIN summaries s ON s.num = x.summary`, isText)
	if err != nil {
		return err
	}
	each := func(keys [][2]int64, again func(key [2]int64) error) func() error {
		return func() error { return sqldb.Each(keys, again) }
	}
	return sqldb.Steps(
		func() error { return c.Exec(`UPDATE conversations SET archive_cause = NULL WHERE archive_cause = ''`) },
		func() error { return convertMessages(c) },
		each(names, func(key [2]int64) error { return Conversations.Again(c, "c.id = ?", key[0]) }),
		each(texts, func(key [2]int64) error { return convertSummary(c, key[0]) }),
		each(earlier, func(key [2]int64) error {
			return Revisions.Again(c, "r.summary = ? AND r.revision = ?", key[0], key[1])
		}),
		func() error { return Branches.Again(c, "TRUE") },
		func() error { return Payloads.Again(c, "TRUE") },
		func() error { return State.Again(c, "TRUE") },
		func() error { return sqldb.Each(sets, func(name string) error { return Set(c, name) }) })
}

// convertMessages seals the messages, some at a time.
func convertMessages(c sqldb.Conn) error {
	last, err := sqldb.Value[int64](c, `SELECT max(id) FROM messages`)
	const step = 1000
	for from := int64(0); err == nil && from <= last; from += step {
		err = Messages.Again(c, "m.id >= ? AND m.id < ?", from, from+step)
	}
	return err
}

func convertSummary(c sqldb.Conn, num int64) error {
	sources, err := Sources(c, num)
	if err != nil {
		return err
	}
	err = c.Exec(`UPDATE summaries SET sources = ?1, earlier = (SELECT count(*) FROM revisions WHERE summary = ?2) WHERE num = ?2`, sources, num)
	if err != nil {
		return err
	}
	return Summaries.Again(c, "s.num = ?", num)
}

// isText says that a seal is the hash of the text before, and one of both.
var isText = []any{"summary"}

// rowsBefore returns the keys of the rows that the seals of the version before prove. A query
// has the key, the seal and the values under it.
func rowsBefore(c sqldb.Conn, columns int, sql string, values []any) (keys [][2]int64, err error) {
	err = c.Query(sql, func(s sqldb.Row) error {
		seal, values := s.ColumnBlob(2, nil), values
		if values == nil {
			values = []any{"conversation"}
		} else if len(seal) == 2*sha256.Size {
			values, seal = append(values, seal[:sha256.Size]), seal[sha256.Size:]
		}
		for i := range columns {
			values = append(values, s.ColumnValue(3+i))
		}
		if bytes.Equal(seal, hashBefore(values...)) {
			keys = append(keys, [2]int64{s.ColumnInt64(0), s.ColumnInt64(1)})
		}
		return nil
	})
	return keys, err
}

// setsBefore returns the names of the sets of rows that the seals of the version before
// prove. It had none of the state, and the row of an erasure was not part of its seal.
func setsBefore(c sqldb.Conn) ([]string, error) {
	all, err := names(c)
	proved := []string{Values, erasures}
	for _, name := range all {
		queries, args := rows(name)
		if len(args) > 0 {
			queries = queries[1:]
		}
		if err != nil || name == Values || name == erasures {
			continue
		}
		have, summed := sumUp(c, queries, args, func(values ...any) int64 { return short(hashBefore(values...)) })
		want, _, readErr := read(c, name)
		if err = errors.Join(summed, readErr); have == want {
			proved = append(proved, name)
		}
	}
	return proved, err
}

// hashBefore is the hash of the version before.
func hashBefore(values ...any) []byte {
	h := sha256.New()
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			fmt.Fprintf(h, "b%d:", len(v))
			h.Write(v)
		case string:
			fmt.Fprintf(h, "s%d:%s", len(v), v)
		default:
			fmt.Fprintf(h, "v%v;", v)
		}
	}
	return h.Sum(nil)
}
