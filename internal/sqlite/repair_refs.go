package sqlite

import (
	"encoding/json"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// refsOf lists the references to payloads in the parts of a message.
func refsOf(parts []llms.Part) []llms.Ref {
	var refs []llms.Ref
	for _, p := range parts {
		if p.Ref != nil {
			refs = append(refs, *p.Ref)
		}
		if p.Result != nil {
			refs = append(refs, refsOf(p.Result.Output)...)
		}
	}
	return refs
}

// needs lists the payloads that a message cannot do without: those of its
// references and those that were cut out of its record.
func needs(refs []llms.Ref, cuts string) []string {
	var ids []string
	for _, r := range refs {
		ids = append(ids, r.ID)
	}
	var cut []store.Cut
	if json.Unmarshal([]byte(cuts), &cut) == nil {
		for _, c := range cut {
			ids = append(ids, string(c.Payload))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// linked reports whether a message is linked to a payload that exists.
func (c *conn) linked(message int64, payload string) (exists, linked bool, err error) {
	exists, err = c.one(`
		SELECT EXISTS (SELECT 1 FROM message_payloads mp WHERE mp.message = ? AND mp.payload = p.num) FROM payloads p WHERE p.id = ?`,
		func(s *sqlite3.Stmt) error { linked = s.ColumnBool(0); return nil }, message, payload)
	return exists, linked, err
}

// described reports whether a payload says of itself what a message that
// refers to it says: the first one did, and that is part of the hash chain.
// The same content may have come under other names since.
func (c *conn) described(message int64, ref llms.Ref) (bool, error) {
	if ref.Name == "" && ref.MIME == "" && ref.Note == "" {
		return true, nil // the reference says nothing
	}
	first, same := int64(0), true
	found, err := c.one(`
		SELECT (SELECT min(message) FROM message_payloads WHERE payload = p.num), p.name = ? AND p.mime = ? AND p.summary = ? AND p.tokens = ?
		FROM payloads p WHERE p.id = ?`,
		func(s *sqlite3.Stmt) error { first, same = s.ColumnInt64(0), s.ColumnBool(1); return nil },
		ref.Name, ref.MIME, ref.Note, ref.Tokens, ref.ID)
	return same || !found || first != message, err
}

// checkRefs proves what is kept about the payloads of a message beside it.
func (v *verifier) checkRefs(id store.MessageID, body []byte, cuts string) error {
	var refs []llms.Ref
	if body != nil {
		m, err := wire.Decode(llms.FormatLCM, "", body)
		if err != nil {
			v.fault("body", id, "what is stored beside its record does not decode: %v", err)
			return nil
		}
		refs = refsOf(m.Parts)
	}
	for _, payload := range needs(refs, cuts) {
		if exists, linked, err := v.linked(int64(id), payload); err != nil {
			return err
		} else if exists && !linked {
			v.fault("payload-link", id, "%s belongs to it, and is not listed as such", payload)
		}
	}
	for i, ref := range refs {
		if slices.ContainsFunc(refs[:i], func(r llms.Ref) bool { return r.ID == ref.ID }) {
			continue // the first one named it
		}
		if same, err := v.described(int64(id), ref); err != nil {
			return err
		} else if !same {
			v.fault("payload-about", name(ref.ID), "its name, type or description is not the one that %s came with", id)
		}
	}
	return nil
}

// mendReferences links payloads to messages that need them, and gives them
// back the name and description that they came with.
func (c *conn) mendReferences() error {
	type need struct {
		message int64
		refs    []llms.Ref
		ids     []string
	}
	var all []need
	err := c.query(`SELECT id, body, cuts FROM messages WHERE body IS NOT NULL OR cuts IS NOT NULL ORDER BY id`, func(s *sqlite3.Stmt) error {
		n := need{message: s.ColumnInt64(0)}
		if s.ColumnType(1) != sqlite3.NULL {
			m, err := wire.Decode(llms.FormatLCM, "", s.ColumnBlob(1, nil))
			if err != nil {
				return nil // Verify tells of it
			}
			n.refs = refsOf(m.Parts)
		}
		n.ids = needs(n.refs, s.ColumnText(2))
		if len(n.ids) > 0 {
			all = append(all, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range all {
		for _, id := range n.ids {
			err := c.exec(`INSERT INTO message_payloads (message, payload) SELECT ?, num FROM payloads WHERE id = ? ON CONFLICT DO NOTHING`, n.message, id)
			if err != nil {
				return err
			}
		}
	}
	for _, n := range all {
		for i, ref := range n.refs {
			if slices.ContainsFunc(n.refs[:i], func(r llms.Ref) bool { return r.ID == ref.ID }) {
				continue
			}
			same, err := c.described(n.message, ref)
			if err == nil && !same {
				err = c.exec(`UPDATE payloads SET name = ?, mime = ?, summary = ?, tokens = ? WHERE id = ?`, ref.Name, ref.MIME, ref.Note, ref.Tokens, ref.ID)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
