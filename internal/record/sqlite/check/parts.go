package check

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
)

// payloads verifies the content of every payload.
func (k *checkup) payloads(ctx context.Context) error {
	list, err := rows.PayloadRows(k.Conn, "TRUE")
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := rows.ReadContent(k.Conn, p)
		switch {
		case err != nil && sqldb.Fatal(err):
			k.Fault("payload", p.ID, "its content cannot be read: %s", sqldb.WithoutHint(err))
		case err == nil && found.Sum == p.Sum && found.Size == p.Size && !found.Mislabelled && !found.More && p.Named():
		case found.Sum == p.Sum || strings.HasPrefix("file_"+hex.EncodeToString(found.Sum[:]), p.ID):
			k.Fault("payload-numbers", p.ID, "its content is whole, but its row has a wrong size, hash, name or compression, or there is more behind its end")
		case err != nil:
			k.Fault("payload", p.ID, "its content cannot be read: %s", sqldb.WithoutHint(err))
		default:
			k.Fault("payload", p.ID, "its content does not match its SHA-256")
		}
	}
	return nil
}
