package move

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Archive yields the rows and payloads of an archive. progress is called with the number
// of messages so far.
func Archive(in *archive.Reader, progress func(messages int64)) (Source, error) {
	if err := dbfile.CheckVersion(in.Manifest().Schema, true); err != nil {
		return nil, fmt.Errorf("the archive: %w", err)
	}
	return func(yield func(archive.Item, error) bool) {
		for messages := int64(0); ; {
			item, err := in.Next()
			if errors.Is(err, io.EOF) || !yield(item, err) || err != nil && !errors.Is(err, archive.ErrDamaged) {
				return
			}
			if item.Table == "messages" {
				messages++
				progress(messages)
			}
		}
	}, nil
}

// Export writes conversations into an archive, with those that they were forked from or
// started by, as they stand at one moment. Without ids it writes everything. m has the
// program and the time; the rest is filled in. damage lists the faults of the database:
// rows and payloads that are named there are marked.
func Export(ctx context.Context, db sqldb.DB, ids []store.ConversationID, w io.Writer, m archive.Manifest, damage []store.Fault, progress func(messages int64)) (archive.Manifest, error) {
	err := db.Reader(ctx, func(c sqldb.Conn) error {
		return c.Read(func() error {
			e := &export{Conn: c, manifest: m, damage: map[string]string{}, progress: progress}
			for _, f := range damage {
				e.damage[f.Node] = f.Detail
			}
			err := e.write(ids, w)
			m = e.manifest
			return err
		})
	})
	return m, err
}

type export struct {
	sqldb.Conn
	manifest archive.Manifest
	out      *archive.Writer
	damage   map[string]string // by the id of what is damaged
	progress func(messages int64)
}

func (e *export) write(ids []store.ConversationID, w io.Writer) error {
	all, err := related(e.Conn, ids)
	if err != nil {
		return err
	}
	unlisted, err := sqldb.Column[store.ConversationID](e.Conn, `SELECT c.id FROM conversations c WHERE NOT (`+rows.Listed+`)`)
	if err != nil {
		return err
	}
	e.manifest.Schema, e.manifest.Complete = dbfile.Version, len(ids) == 0
	chosen, h := []store.ConversationID{}, sha256.New()
	for _, c := range all {
		if chosen = append(chosen, c.ID); !slices.Contains(unlisted, c.ID) {
			e.manifest.Conversations = append(e.manifest.Conversations, archive.Conversation{Key: c.Key, Segment: c.Segment, Title: c.Title, Messages: c.Messages - c.Erased})
			digest := verify.ConversationDigest(c.Key, c.Segment, c.Messages, c.Head)
			h.Write(digest[:])
		}
	}
	e.manifest.Digest = hex.EncodeToString(h.Sum(nil))
	if e.out, err = archive.NewWriter(w, e.manifest); err != nil {
		return err
	}
	if len(ids) == 0 {
		chosen = nil
	}
	if err := e.rows(chosen); err != nil {
		return err
	}
	return e.out.Close()
}

// rows writes the rows, and then the content of the payloads among them.
func (e *export) rows(chosen []store.ConversationID) error {
	list := slices.DeleteFunc(slices.Clone(tables), func(t table) bool { return slices.Contains(unarchived, t.name) })
	var payloads []rows.PayloadRow
	messages := int64(0)
	err := readTables(e.Conn, list, chosen, func(r archive.Row) error {
		value := func(column string) any { return r.Values[slices.Index(r.Columns, column)] }
		switch r.Table {
		case "messages":
			messages++
			e.progress(messages)
			r.Damaged = e.damage[store.MessageID(r.Values[0].(int64)).String()]
		case "summaries":
			r.Damaged = e.damage[value("id").(string)]
		case "payloads":
			r.Damaged = e.damage[value("id").(string)]
			p := rows.PayloadRow{Num: r.Values[0].(int64), ID: value("id").(string), Size: value("size").(int64)}
			copy(p.Sum[:], value("sha256").([]byte))
			payloads = append(payloads, p)
		}
		return e.out.Row(r)
	})
	if err != nil {
		return err
	}
	for _, p := range payloads {
		if err := e.payload(p); err != nil {
			return fmt.Errorf("archive %s: %w", p.ID, err)
		}
	}
	return nil
}

// payload writes the content of a payload, of a damaged one the chunks that can be read.
func (e *export) payload(p rows.PayloadRow) error {
	if _, isDamaged := e.damage[p.ID]; isDamaged {
		var content []byte
		chunks, err := sqldb.Column[int64](e.Conn, `SELECT n FROM chunks WHERE payload = ? ORDER BY n`, p.Num)
		for _, n := range chunks {
			_ = rows.ReadChunks(e.Conn, p.Num, n, n, func(_ int64, raw []byte) error { // the archive says that it is damaged
				content = append(content, raw...)
				return nil
			})
		}
		return errors.Join(err, e.out.Payload(p.Sum, int64(len(content)), bytes.NewReader(content), true))
	}
	return e.out.Payload(p.Sum, p.Size, chunks{e.Conn, p.Num}, false)
}

// related returns the chosen conversations with their origins and parents, in the order of
// the digest.
func related(c sqldb.Conn, ids []store.ConversationID) ([]store.Conversation, error) {
	list, err := json.Marshal(ids) // null stands for all
	if err != nil {
		return nil, err
	}
	all, err := sqldb.List(c, `SELECT`+rows.ConversationColumns+` WHERE ?1 = 'null' OR c.id IN (
		WITH RECURSIVE need (id) AS (
			SELECT value FROM json_each(?1)
			UNION SELECT x.value FROM need JOIN conversations c ON c.id = need.id, json_each(json_array(c.forked_from, c.parent)) x WHERE x.value IS NOT NULL
		) SELECT id FROM need) ORDER BY c.key COLLATE BINARY, c.segment`,
		func(s sqldb.Row) store.Conversation { return rows.ScanConversation(s).Conversation }, string(list))
	for _, id := range ids {
		if err == nil && !slices.ContainsFunc(all, func(c store.Conversation) bool { return c.ID == id }) {
			err = store.Missing(fmt.Sprintf("conversation %d", id))
		}
	}
	return all, err
}

// chunks is the content of a payload.
type chunks struct {
	sqldb.Conn
	num int64
}

// WriteTo implements [io.WriterTo].
func (c chunks) WriteTo(w io.Writer) (n int64, err error) {
	err = rows.ReadChunks(c.Conn, c.num, 0, math.MaxInt64, func(_ int64, raw []byte) error {
		done, err := w.Write(raw)
		n += int64(done)
		return err
	})
	return n, err
}
