package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// identity hashes the content of a message, without ids, times, cache marks and
// metadata, which hosts change when they send it again.
func identity(m llms.Message) [sha256.Size]byte {
	plain := llms.Message{Role: m.Role, Parts: stripped(m.Parts)}
	b, err := wire.Encode(llms.FormatLCM, plain)
	if err != nil { // impossible: only metadata can fail, and there is none
		return sha256.Sum256([]byte(m.Render()))
	}
	return sha256.Sum256(b)
}

func stripped(parts []llms.Part) []llms.Part {
	out := make([]llms.Part, len(parts))
	for i, p := range parts {
		if p.Kind != llms.PartOther {
			p.Extra = nil
		}
		if p.Result != nil {
			r := *p.Result
			r.Output, r.Name = stripped(r.Output), ""
			p.Result = &r
		}
		out[i] = p
	}
	return out
}

// recordSum hashes the record of a message, which tells an unchanged message
// from an edited one. A message without a record fails later in prepare.
func recordSum(m llms.Message) [sha256.Size]byte {
	if m.Raw.Bytes != nil {
		return sha256.Sum256(m.Raw.Bytes)
	}
	_, record, _, err := recordOf(m)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(record)
}

// secondID is the id of a message whose own id is taken by another record: it
// was edited in place, or ids are not unique. It contains the whole hash of the
// record, because a short one can be made to collide, and the message would be
// taken as stored.
func secondID(native string, record [sha256.Size]byte) string {
	return native + "~" + hex.EncodeToString(record[:])
}

// distinct drops messages that repeat the id and record of an earlier one in the
// same history.
func distinct(history []input) []input {
	type key struct {
		id  string
		sum hash
	}
	count := map[string]int{}
	for _, m := range history {
		count[m.ID]++
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(slices.Clone(history), func(m input) bool {
		if m.ID == "" || count[m.ID] == 1 { // no need to hash its record
			return false
		}
		k := key{m.ID, recordSum(m.Message)}
		again := seen[k]
		seen[k] = true
		return again
	})
}
