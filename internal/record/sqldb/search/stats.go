package search

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Stats is the size of the search index of messages.
type Stats struct {
	Segments  int
	Docs      int64
	TextBytes int64 // of the indexed text
	WordBytes int64
	GramBytes int64
	DocBytes  int64
}

// ReadStats adds up the segments of the message lane.
func ReadStats(ctx context.Context, f sqldb.DB) (Stats, error) {
	var st Stats
	err := f.Reader(ctx, func(c sqldb.Conn) error {
		_, infos, err := New(f).messages.infos(c)
		for _, i := range infos {
			st.Segments++
			st.Docs += int64(i.Docs)
			st.TextBytes += i.TextBytes
			st.WordBytes += i.WordBytes
			st.GramBytes += i.GramBytes
			st.DocBytes += i.DocBytes
		}
		return err
	})
	return st, err
}
