package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/store"
)

// payloads proves the content of every payload against its hash.
func (k *checkup) payloads(ctx context.Context) error {
	rows, err := k.payloadRows()
	if err != nil {
		return err
	}
	for _, p := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := k.contentOf(p)
		switch {
		case err != nil && fatal(err):
			k.fault("payload", p.id, "its content cannot be read: %s", bare(err))
		case found.sum == p.sum && found.size == p.size && !found.mislabelled && p.named():
		case found.sum == p.sum || strings.HasPrefix("file_"+hex.EncodeToString(found.sum[:]), p.id):
			k.fault("payload-numbers", p.id, "its content is whole, but what the row says of it (size, hash, name or compression) is not true of it")
		case err != nil:
			k.fault("payload", p.id, "its content cannot be read: %s", bare(err))
		default:
			k.fault("payload", p.id, "its content does not match its SHA-256")
		}
	}
	return nil
}

// payloadRow is what a payload says of its content.
type payloadRow struct {
	num  int64
	id   string
	sum  [sha256.Size]byte
	size int64
}

// named reports whether the id is the one that the hash gives.
func (p payloadRow) named() bool {
	return len(p.id) >= len("file_")+16 && strings.HasPrefix("file_"+hex.EncodeToString(p.sum[:]), p.id)
}

func (c *conn) payloadRows() ([]payloadRow, error) {
	var rows []payloadRow
	err := c.query(`SELECT num, id, sha256, size FROM payloads ORDER BY num`, func(s *sqlite3.Stmt) error {
		p := payloadRow{num: s.ColumnInt64(0), id: s.ColumnText(1), size: s.ColumnInt64(3)}
		copy(p.sum[:], s.ColumnRawBlob(2))
		rows = append(rows, p)
		return nil
	})
	return rows, err
}

// zstdMagic begins every compressed chunk.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// foundContent is what the chunks of a payload hold.
type foundContent struct {
	sum         [sha256.Size]byte
	size        int64
	mislabelled bool // a chunk says that it is compressed and is not, or the reverse
}

// contentOf reads the chunks of a payload. Where they do not give the hash as
// they are marked, they are taken for what they look like.
func (c *conn) contentOf(p payloadRow) (foundContent, error) {
	found, err := c.hashChunks(p.num, false)
	if err == nil && found.sum == p.sum {
		return found, nil
	}
	if other, otherErr := c.hashChunks(p.num, true); otherErr == nil && other.sum == p.sum {
		other.mislabelled = true
		return other, nil
	}
	return found, err
}

func (c *conn) hashChunks(num int64, byLook bool) (found foundContent, err error) {
	h := sha256.New()
	next := int64(0)
	err = c.query(`SELECT n, compressed, data FROM chunks WHERE payload = ? ORDER BY n`, func(s *sqlite3.Stmt) error {
		if n := s.ColumnInt64(0); n != next {
			return fmt.Errorf("chunk %d is missing", next)
		}
		next++
		data, compressed := s.ColumnRawBlob(2), s.ColumnBool(1)
		if byLook {
			compressed = bytes.HasPrefix(data, zstdMagic)
		}
		if compressed {
			raw, err := decoder.DecodeAll(data, nil)
			if err != nil {
				return fmt.Errorf("chunk %d: %w", next-1, err)
			}
			data = raw
		}
		h.Write(data)
		found.size += int64(len(data))
		return nil
	}, num)
	h.Sum(found.sum[:0])
	return found, err
}

// index compares the segments of the search index with the documents.
func (k *checkup) index(ctx context.Context) error {
	for _, l := range []*lane{k.db.messages, k.db.summaries} {
		name := map[int]string{laneMessages: "messages", laneSummaries: "summaries"}[l.kind]
		at, why, err := l.unsound(ctx, k.conn)
		if err != nil {
			return err
		}
		if at > 0 {
			k.fault("search-index", "search index of "+name, "%s", why)
		}
		var last int64
		if _, err := k.one(l.sql.last, func(s *sqlite3.Stmt) error { last = s.ColumnInt64(0); return nil }); err != nil {
			return err
		}
		if end, err := l.watermark(k.conn); err != nil {
			return err
		} else if last-end > 2*late && at == 0 {
			k.fault("search-behind", "search index of "+name, "%d documents are not indexed yet: searches are complete, but slow", last-end)
		}
	}
	return nil
}

// unsound finds the first segment of a lane that is not what it should be. at
// is the id of a document from which on the lane is to be built anew, 0 if
// nothing is wrong.
func (l *lane) unsound(ctx context.Context, c *conn) (at int64, why string, err error) {
	var epochs int
	if _, err := c.one(`SELECT count(*) FROM lanes WHERE lane = ?`, integer(&epochs), l.kind); err != nil {
		return 0, "", err
	}
	ids, infos, err := l.infos(c)
	if err != nil {
		return 0, "", err
	}
	if epochs != 1 {
		return 1, "the lane has no epoch", nil
	}
	from := int64(0)
	for i, id := range ids {
		docs := 0
		sql := `SELECT count(*) FROM messages WHERE id > ? AND id <= ? AND flags & 128 = 0` // not those that were erased
		if l.kind == laneSummaries {
			sql = `SELECT count(*) FROM summaries WHERE num > ? AND num <= ?`
		}
		_, err := c.one(sql, integer(&docs), from, infos[i].LastID)
		if err != nil {
			return 0, "", err
		}
		if docs != infos[i].Docs {
			return from + 1, fmt.Sprintf("between %d and %d there are %d documents, %d are indexed", from+1, infos[i].LastID, docs, infos[i].Docs), nil
		}
		seg, err := segment.Open(ctx, uncached{c}, id)
		if err == nil && seg.Info() != infos[i] {
			err = fmt.Errorf("segment %d: %w", id, errSegmentRow)
		}
		if err == nil {
			err = seg.Check(ctx)
		}
		if err != nil {
			if ctx.Err() != nil {
				return 0, "", ctx.Err()
			}
			return from + 1, bare(err), nil
		}
		from = infos[i].LastID
	}
	return 0, "", nil
}

var errSegmentRow = errors.New("its row does not say what it holds")

// uncached reads the sections of segments as they are in the file.
type uncached struct{ *conn }

// Get implements [segment.Blobs].
func (u uncached) Get(_ context.Context, segment, n int64) ([]byte, error) {
	var data []byte
	found, err := u.one(`SELECT data FROM sections WHERE segment = ? AND n = ?`, func(s *sqlite3.Stmt) error {
		data = s.ColumnBlob(0, nil)
		return nil
	}, segment, n)
	if err == nil && !found {
		err = fmt.Errorf("section %d of segment %d is missing", n, segment)
	}
	return data, err
}

// leaseSpace is the space of [store.State] in which every package keeps the
// leases that it takes.
const leaseSpace = "lease"

// maxLease is longer than any lease is taken for: one that ends later was
// taken by a process whose clock was wrong.
const maxLease = 24 * time.Hour

// state looks for what processes that died have left behind.
func (k *checkup) state(context.Context) error {
	now := k.db.opts.Clock()
	return k.query(`SELECT key, expires FROM state WHERE space = ? AND length(data) > 0 ORDER BY key`, func(s *sqlite3.Stmt) error {
		key, expires := s.ColumnText(0), millis(s, 1)
		switch {
		case expires.IsZero() || expires.After(now.Add(maxLease)):
			k.fault("lease-stuck", "lease "+key, "it is held for longer than any work takes, until %s", until(expires))
		case !expires.After(now) && expires.After(now.Add(-maxLease)): // one from earlier is no news
			k.fault("lease-expired", "lease "+key, "a process ended in the middle of its work; its lease ran out at %s", expires.Format(time.RFC3339))
		}
		return nil
	}, leaseSpace)
}

// tombstones looks for erasures that only their tombstones tell of.
func (k *checkup) tombstones(context.Context) error {
	return k.query(`SELECT id FROM `+unnoted+` ORDER BY id`, func(s *sqlite3.Stmt) error {
		k.fault("erasure-missing", fmt.Sprintf("tombstone %d", s.ColumnInt64(0)), "it is not noted any more when and why something was erased")
		return nil
	})
}

func until(t time.Time) string {
	if t.IsZero() {
		return "for ever"
	}
	return t.Format(time.RFC3339)
}

// looksBroken says what is wrong with the text of a summary that no summariser
// would have written, or nothing.
func looksBroken(s store.Summary) string {
	switch {
	case strings.TrimSpace(s.Body) == "":
		return "it has no text"
	case !utf8.ValidString(s.Body) || strings.ContainsRune(s.Body, 0):
		return "its text is not text"
	case strings.Contains(s.Body, "<think>") || strings.Contains(s.Body, "</think>"):
		return "it holds a model's reasoning instead of, or beside, a summary"
	case s.Tokens <= 0:
		return "it says that it costs nothing"
	case s.SourceTokens > 0 && s.Tokens > 2*s.SourceTokens+500: // a short one costs its frame as well
		return "it is far larger than what it was made from"
	}
	return ""
}
