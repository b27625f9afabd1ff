package ingest

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/lossless-context/lcm/llms"
)

// identity hashes what a message says, without what hosts change between two
// sendings of it: ids, times, cache marks, metadata.
func identity(m llms.Message) [sha256.Size]byte {
	plain := llms.Message{Role: m.Role, Parts: stripped(m.Parts)}
	b, err := llms.Encode(llms.FormatLCM, plain)
	if err != nil { // cannot be: only metadata can fail, and there is none
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
// from one that was edited in place. A message that has no record is found
// out when it is prepared.
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

// secondID is the id of a message whose own id is there with another record:
// an edit in place, or ids that are not unique. The hash of its record makes
// it as stable as the first, all of the hash, because eight digits of one can
// be made to collide and the message would be taken for stored.
func secondID(native string, record [sha256.Size]byte) string {
	return native + "~" + hex.EncodeToString(record[:])
}

// distinct leaves out the messages that repeat an earlier one of the same
// history, id and record: they are one message that was sent twice.
func distinct(history []Input) []Input {
	type key struct {
		id  string
		sum [sha256.Size]byte
	}
	first := map[string]int{}
	seen := map[key]bool{}
	var out []Input // nil while nothing is left out
	for i, m := range history {
		keep := true
		if m.ID != "" {
			at, again := first[m.ID]
			if !again {
				first[m.ID] = i
			} else {
				seen[key{m.ID, recordSum(history[at].Message)}] = true
				k := key{m.ID, recordSum(m.Message)}
				keep, seen[k] = !seen[k], true
			}
		}
		switch {
		case !keep && out == nil:
			out = append(make([]Input, 0, len(history)), history[:i]...)
		case keep && out != nil:
			out = append(out, m)
		}
	}
	if out == nil {
		return history
	}
	return out
}
