package verify

import (
	"encoding/json"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Needs lists the payloads that a message refers to or that were cut out of its
// record.
func Needs(refs []llms.Ref, cuts string) []string {
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

// IsLinked reports whether a payload exists, and whether the message is linked
// to it.
func IsLinked(c sqldb.Conn, message int64, payload string) (exists, linked bool, err error) {
	exists, err = c.One(`
		SELECT EXISTS (SELECT 1 FROM message_payloads mp WHERE mp.message = ? AND mp.payload = p.num) FROM payloads p WHERE p.id = ?`,
		sqldb.Into(&linked), message, payload)
	return exists, linked, err
}

// IsDescribed reports whether the description of a payload is that of the first
// message that refers to it, which the hash chain covers. Later messages may
// have used other names for the same content.
func IsDescribed(c sqldb.Conn, message int64, ref llms.Ref) (bool, error) {
	if ref.Name == "" && ref.MIME == "" && ref.Note == "" {
		return true, nil // the reference has no description
	}
	first, same := int64(0), true
	found, err := c.One(`
		SELECT (SELECT min(message) FROM message_payloads WHERE payload = p.num), p.name = ? AND p.mime = ? AND p.summary = ? AND p.tokens = ?
		FROM payloads p WHERE p.id = ?`,
		sqldb.Into(&first, &same), ref.Name, ref.MIME, ref.Note, ref.Tokens, ref.ID)
	return same || !found || first != message, err
}

// checkRefs checks the links and descriptions of the payloads of a message.
func (v *verifier) checkRefs(id store.MessageID, body []byte, cuts string) error {
	var refs []llms.Ref
	if body != nil {
		m, err := wire.Decode(llms.FormatLCM, "", body)
		if err != nil {
			v.Fault("body", id.String(), "the body that is stored beside its record does not decode: %v", err)
			return nil
		}
		refs = store.Refs(m.Parts)
	}
	for _, payload := range Needs(refs, cuts) {
		if exists, linked, err := IsLinked(v.Conn, int64(id), payload); err != nil {
			return err
		} else if exists && !linked {
			v.Fault("payload-link", id.String(), "%s belongs to it, and is not listed as such", payload)
		}
	}
	return nil
}
