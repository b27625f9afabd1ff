package lookup

import (
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"

	"github.com/lossless-context/lcm/internal/kit/prose"
)

// A cursor is opaque to its holder: the kind of question, a digest of it and a
// place, as DER in base64, which is half as long as JSON: models pay for every
// character. The digest keeps a cursor from being used for another question,
// where it would skip answers in silence.
const cursorVersion = 2

type sealedCursor[P any] struct {
	Version  int
	Question []byte
	Place    P
}

// question digests the request that a cursor belongs to, and the scope of the store: a
// cursor of another scope is refused.
func question(of Store, kind string, parts ...any) string {
	parts = append([]any{kind}, parts...)
	if in, ok := of.(interface{ ScopeName() string }); ok {
		parts = append(parts, in.ScopeName())
	}
	b, err := json.Marshal(parts)
	if err != nil { // cannot be: the parts are strings, numbers and lists of them
		b = []byte(kind)
	}
	sum := sha256.Sum256(b)
	return string(sum[:6])
}

func seal[P any](question string, place P) string {
	b, err := asn1.Marshal(sealedCursor[P]{cursorVersion, []byte(question), place})
	if err != nil { // cannot be: places are numbers and strings
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

const cursorHint = "pass nextCursor of the answer before, unchanged and with the same question, or leave cursor out to begin anew"

// unseal reads a cursor. An empty one is the beginning.
func unseal[P any](cursor, question string) (place P, err error) {
	if cursor == "" {
		return place, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return place, refuse(cursorHint, "the cursor %q is damaged", prose.Clip(cursor, 40))
	}
	var c sealedCursor[P]
	if rest, err := asn1.Unmarshal(b, &c); err != nil || len(rest) > 0 {
		return place, refuse(cursorHint, "the cursor %q is damaged", prose.Clip(cursor, 40))
	}
	if c.Version != cursorVersion {
		return place, refuse(cursorHint, "the cursor is of version %d, and this program knows %d", c.Version, cursorVersion)
	}
	if string(c.Question) != question {
		return place, refuse(cursorHint, "the cursor belongs to another question")
	}
	return c.Place, nil
}
