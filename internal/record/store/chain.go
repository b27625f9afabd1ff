package store

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/lossless-context/lcm/llms"
)

// Genesis is the link before the first message of a conversation.
var Genesis = sha256.Sum256([]byte("lcm chain 1"))

// Link extends a conversation's hash chain by a message. It covers the hash of the
// original record, the fields that the record does not contain, and the body if it is
// stored separately (else nil). It includes the time when the message was said, but not
// when it was stored. Every backend computes it the same way, so that a chain can be
// checked after a record has moved to another backend.
func Link(prev [sha256.Size]byte, m NewMessage, body []byte) [sha256.Size]byte {
	said := int64(0)
	if !m.Said.IsZero() {
		said = m.Said.UnixMilli()
	}
	h := make([]byte, 0, 192+len(m.Native))
	h = append(h, prev[:]...)
	h = append(h, m.SHA256[:]...)
	h = binary.BigEndian.AppendUint64(h, uint64(m.Size))
	h = binary.BigEndian.AppendUint64(h, uint64(said))
	h = binary.BigEndian.AppendUint32(h, uint32(m.Flags))
	h = append(h, RoleCode(m.Role))
	h = binary.BigEndian.AppendUint16(h, uint16(len(m.Format)))
	h = append(h, m.Format...)
	if body != nil {
		sum := sha256.Sum256(body)
		h = append(h, sum[:]...)
	}
	h = append(h, m.Native...)
	return sha256.Sum256(h)
}

var roleCodes = [...]llms.Role{0: "", 1: llms.RoleUser, 2: llms.RoleAssistant, 3: llms.RoleSystem, 4: llms.RoleTool}

// RoleCode is the number under which backends store a role.
func RoleCode(r llms.Role) byte {
	for i, role := range roleCodes {
		if role == r {
			return byte(i)
		}
	}
	return 0
}

// RoleOf is the inverse of RoleCode; an unknown code has no role.
func RoleOf(code int) llms.Role {
	if code < 0 || code >= len(roleCodes) {
		return ""
	}
	return roleCodes[code]
}

// Links returns the ids of the tool calls that a message makes and answers.
func Links(m llms.Message) (calls, results []string) {
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			calls = append(calls, p.Call.ID)
		case p.Result != nil:
			results = append(results, p.Result.CallID)
		}
	}
	return calls, results
}
