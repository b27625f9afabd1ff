package faulttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// messageID is the native id of the n-th message of a session.
func messageID(session string, n int) string { return fmt.Sprintf("%s#%d", session, n) }

// word is a word that only the message with this id contains.
func word(id string) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	return fmt.Sprintf("zq%016x", h.Sum64())
}

// record returns the bytes of the message with the given id, like those in an agent's
// transcript: mostly short, some with tool calls, some large enough to become a payload,
// some with images and with characters that are easily lost. The same id always gives
// the same bytes.
func record(id string) []byte {
	h := fnv.New64a()
	h.Write([]byte(id))
	rng := rand.New(rand.NewPCG(h.Sum64(), 7))
	var m map[string]any
	switch n := rng.IntN(100); {
	case n < 4: // a payload of one chunk or several
		size := 4_000 + rng.IntN(8_000)
		if n == 0 {
			size = 300_000 + rng.IntN(300_000)
		}
		m = map[string]any{"role": "user", "content": text(rng, id, size)}
	case n < 6:
		image := make([]byte, 2_000+rng.IntN(4_000))
		for i := range image {
			image[i] = byte(rng.Uint32())
		}
		url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(image)
		m = map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": text(rng, id, 40)},
			map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}},
		}}
	case n < 16:
		m = map[string]any{"role": "assistant", "content": text(rng, id, 60), "tool_calls": []any{map[string]any{
			"id": "call_" + word(id), "type": "function", "function": map[string]any{"name": "read", "arguments": `{"path":"a/` + word(id) + `"}`},
		}}}
	case n < 20:
		m = map[string]any{"role": "user", "content": text(rng, id, 80) + " \x00 </summary> \x1b[31m 数据库 \u2028 🙂 \\\""}
	case n < 60:
		m = map[string]any{"role": "user", "content": text(rng, id, 40+rng.IntN(400))}
	default:
		m = map[string]any{"role": "assistant", "content": text(rng, id, 40+rng.IntN(700))}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // impossible: the values are made above
	}
	return b
}

// message returns the message with the given id.
func message(id string) (llms.Message, error) {
	m, err := wire.Decode(llms.FormatOpenAI, "", record(id))
	m.ID = id
	return m, err
}

var vocabulary = strings.Fields("deploy rollback timeout queue worker the of and build cache index failed retry at port config token is was not")

func text(rng *rand.Rand, id string, size int) string {
	var b strings.Builder
	b.WriteString(word(id))
	for b.Len() < size {
		b.WriteByte(' ')
		b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
		if rng.IntN(9) == 0 {
			fmt.Fprintf(&b, " /srv/app%d/x.go:%d.", rng.IntN(50), rng.IntN(900))
		}
	}
	return b.String()
}
