package teamsync

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
)

// identity is how this machine, or rather its database, is known to the server.
type identity struct {
	ID string `json:"id"`
	// Secret keys the marks: the server cannot guess a record from them.
	Secret []byte `json:"secret"`
}

// identity returns the identity of this machine. renew makes a new one, for a copy of a
// database that went its own way.
func (p *Pusher) identity(ctx context.Context, renew bool) (id identity, err error) {
	version, err := p.load(ctx, "machine", &id)
	if err != nil || id.ID != "" && !renew {
		return id, err
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	id = identity{hex.EncodeToString(random[:16]), random[16:]}
	_, err = p.save(ctx, "machine", id, version)
	return id, err
}

// mark identifies a message to this machine alone. A copy of a database that went its own
// way has another message under the same number.
func (id identity) mark(m store.Message) string {
	h := hmac.New(sha256.New, id.Secret)
	fmt.Fprintf(h, "%d %q %d %x", m.Seq, m.Native, m.Body.Time.UnixMilli(), m.SHA256)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Machine returns the id of this machine, which a peer names its rows by.
func (p *Pusher) Machine(ctx context.Context) (string, error) {
	id, err := p.identity(ctx, false)
	return id.ID, err
}

// Renew gives this machine another id, for a database that is a copy.
func (p *Pusher) Renew(ctx context.Context) error {
	_, err := p.identity(ctx, true)
	return err
}
