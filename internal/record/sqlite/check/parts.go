package check

import (
	"context"
	"encoding/hex"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/store"
)

// payloads verifies the content of every payload.
func (k *checkup) payloads(ctx context.Context) error {
	rows, err := record.PayloadRows(k.Conn, "TRUE")
	if err != nil {
		return err
	}
	for _, p := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := record.ReadContent(k.Conn, p)
		switch {
		case err != nil && sqldb.Fatal(err):
			k.Fault("payload", p.ID, "its content cannot be read: %s", sqldb.WithoutHint(err))
		case found.Sum == p.Sum && found.Size == p.Size && !found.Mislabelled && p.Named():
		case found.Sum == p.Sum || strings.HasPrefix("file_"+hex.EncodeToString(found.Sum[:]), p.ID):
			k.Fault("payload-numbers", p.ID, "its content is whole, but its row has a wrong size, hash, name or compression")
		case err != nil:
			k.Fault("payload", p.ID, "its content cannot be read: %s", sqldb.WithoutHint(err))
		default:
			k.Fault("payload", p.ID, "its content does not match its SHA-256")
		}
	}
	return nil
}

// MaxLease is longer than any lease: one that ends later was taken by a process
// with a wrong clock.
const MaxLease = 24 * time.Hour

// state finds leases of processes that died.
func (k *checkup) state(context.Context) error {
	now := k.file.Now()
	return k.Query(`SELECT key, expires FROM state WHERE space = ? AND length(data) > 0 ORDER BY key`, func(s sqldb.Row) error {
		key, expires := s.ColumnText(0), sqldb.Millis(s, 1)
		switch {
		case expires.IsZero() || expires.After(now.Add(MaxLease)):
			k.Fault("lease-stuck", "lease "+key, "it is held for longer than any work takes, until %s", until(expires))
		case !expires.After(now) && expires.After(now.Add(-MaxLease)): // an older one is no news
			k.Fault("lease-expired", "lease "+key, "a process ended in the middle of its work; its lease ran out at %s", expires.Format(time.RFC3339))
		}
		return nil
	}, store.LeaseSpace)
}

func until(t time.Time) string {
	if t.IsZero() {
		return "for ever"
	}
	return t.Format(time.RFC3339)
}
