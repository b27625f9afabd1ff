package vectors

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

const blockSize = rows.VectorBlockSize

// An entry of a block is the number of the message within the block (2 bytes),
// its conversation (8), the length of the vector (4, a float) and its bytes. All
// entries of a block have the same size.
const entryHead = 2 + 8 + 4

// HasVectors implements [store.VectorIndex].
func (v Cache) HasVectors(ctx context.Context, model string) (bool, error) {
	return sqldb.Read(ctx, v.DB, func(c sqldb.Conn) (bool, error) {
		return c.Has(`SELECT 1 FROM vector_blocks WHERE model = ? AND vectors > 0 LIMIT 1`, model)
	})
}

// VectorStatus implements [store.VectorIndex]. It reads no vectors.
func (v Cache) VectorStatus(ctx context.Context, model string) (store.VectorStatus, error) {
	return sqldb.Read(ctx, v.DB, func(c sqldb.Conn) (st store.VectorStatus, err error) {
		_, err = c.One(`SELECT coalesce(sum(vectors), 0), coalesce(sum(octet_length(data)), 0) FROM vector_blocks WHERE model = ?`,
			sqldb.Into(&st.Messages, &st.Bytes), model)
		return st, err
	})
}

// PendingBlocks implements [store.VectorIndex].
func (v Cache) PendingBlocks(ctx context.Context, model string) (pending []store.VectorBlock, err error) {
	err = v.DB.Snapshot(ctx, func(c sqldb.Conn, settled sqldb.Settled) error {
		pending = nil
		through := map[int64]int64{}
		err := c.Query(`SELECT block, through FROM vector_blocks WHERE model = ?`, func(s sqldb.Row) error {
			through[s.ColumnInt64(0)] = s.ColumnInt64(1)
			return nil
		}, model)
		// Numbers may have gaps of any length.
		for below := settled.Messages; err == nil; {
			var last int64
			if last, err = sqldb.Value[int64](c, `SELECT max(id) FROM messages WHERE id <= ?`, below); err != nil || last == 0 {
				break
			}
			n := last / blockSize
			for below = n*blockSize - 1; below > 0 && through[below/blockSize] == below; below -= blockSize {
				// the blocks before it are complete
			}
			if done := max(max(1, n*blockSize)-1, through[n]); done < last {
				pending = append(pending, store.VectorBlock{Number: n, Through: store.MessageID(last), New: last - done})
			}
		}
		return err
	})
	return pending, err
}

// BlockMessages implements [store.VectorIndex].
func (v Cache) BlockMessages(ctx context.Context, b store.VectorBlock) ([]store.MessageID, error) {
	return sqldb.Read(ctx, v.DB, func(c sqldb.Conn) ([]store.MessageID, error) {
		return sqldb.Column[store.MessageID](c, `SELECT id FROM messages WHERE id >= ? AND id <= ? AND `+rows.NotErased+` ORDER BY id`,
			b.Number*blockSize, int64(b.Through))
	})
}

// PutBlock implements [store.VectorIndex].
func (v Cache) PutBlock(ctx context.Context, model string, b store.VectorBlock, vectors []store.MessageVector) error {
	byMessage := map[int64]store.MessageVector{}
	size := 0
	for _, one := range vectors {
		byMessage[int64(one.Message)], size = one, len(one.Vector)
	}
	err := v.DB.Transact(ctx, func(c sqldb.Conn) error {
		n, data, through := 0, make([]byte, 0, len(vectors)*(entryHead+size)), int64(b.Through)
		// Messages may have been erased or masked while their texts were embedded. An
		// erasure that comes later waits, and then sees the block.
		err := c.Query(`SELECT m.id, m.conversation, m.flags FROM messages m WHERE m.id >= ? AND m.id <= ? AND m.`+rows.NotErased+` ORDER BY m.id`+c.Dialect().ForUnchanged, func(s sqldb.Row) error {
			id := s.ColumnInt64(0)
			one := byMessage[id]
			switch {
			case id > through || len(one.Vector) != size || size == 0:
			case one.Flags != store.Flag(s.ColumnInt64(2)):
				through = id - 1
			default:
				n, data = n+1, appendEntry(data, id, s.ColumnInt64(1), one.Vector)
			}
			return nil
		}, b.Number*blockSize, int64(b.Through))
		if err != nil {
			return err
		}
		return c.Exec(`INSERT INTO vector_blocks (model, block, through, vectors, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (model, block) DO UPDATE SET through = excluded.through, vectors = excluded.vectors, data = excluded.data`,
			model, b.Number, through, n, data)
	})
	if err != nil {
		return fmt.Errorf("store a block of vectors: %w", err)
	}
	return nil
}

func appendEntry(data []byte, id, conversation int64, vector []byte) []byte {
	squares := 0
	for _, b := range vector {
		squares += int(int8(b)) * int(int8(b))
	}
	data = binary.LittleEndian.AppendUint16(data, uint16(id%blockSize))
	data = binary.LittleEndian.AppendUint64(data, uint64(conversation))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(math.Sqrt(float64(squares)))))
	return append(data, vector...)
}

// Nearest implements [store.VectorIndex]. It reads one block at a time.
func (v Cache) Nearest(ctx context.Context, q store.NearestQuery) (out store.Nearest, err error) {
	best := nearestList{limit: q.Limit}
	in := map[int64]bool{}
	for _, id := range q.Conversations {
		in[int64(id)] = true
	}
	err = v.DB.Reader(ctx, func(c sqldb.Conn) error {
		type block struct{ number, vectors int64 }
		blocks, err := sqldb.List(c, `SELECT block, vectors FROM vector_blocks WHERE model = ? AND vectors > 0 ORDER BY block DESC`,
			func(s sqldb.Row) block { return block{s.ColumnInt64(0), s.ColumnInt64(1)} }, q.Model)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if !q.Until.IsZero() && time.Now().After(q.Until) {
				out.Left += b.vectors
				continue
			}
			_, err := c.One(`SELECT data FROM vector_blocks WHERE model = ? AND block = ?`, func(s sqldb.Row) error {
				best.compare(q.Vector, s.ColumnRawBlob(0), int(b.vectors), b.number*blockSize, in)
				return nil
			}, q.Model, b.number)
			if err != nil {
				return err
			}
			out.Compared += b.vectors
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("compare vectors: %w", err)
	}
	for _, m := range best.all {
		out.Messages = append(out.Messages, store.MessageID(m.id))
	}
	return out, nil
}

// nearestList keeps the most similar messages, the best first.
type nearestList struct {
	limit int
	all   []similar
}

type similar struct {
	id    int64
	score float32
}

// compare adds the entries of a block with n vectors that are in conversations.
func (l *nearestList) compare(question, data []byte, n int, first int64, in map[int64]bool) {
	size := entryHead + len(question)
	if len(data) != n*size {
		return // of another length: the server has changed its model
	}
	conversation, inside := int64(-1), len(in) == 0
	for ; len(data) > 0; data = data[size:] {
		if of := int64(binary.LittleEndian.Uint64(data[2:])); of != conversation && len(in) > 0 {
			conversation, inside = of, in[of]
		}
		if !inside {
			continue
		}
		length := math.Float32frombits(binary.LittleEndian.Uint32(data[10:]))
		score := float32(dot(question, data[entryHead:size])) / length
		if len(l.all) == l.limit && score <= l.all[len(l.all)-1].score {
			continue
		}
		if len(l.all) == l.limit {
			l.all = l.all[:len(l.all)-1]
		}
		at, _ := slices.BinarySearchFunc(l.all, score, func(s similar, score float32) int { return cmp.Compare(score, s.score) })
		l.all = slices.Insert(l.all, at, similar{first + int64(binary.LittleEndian.Uint16(data)), score})
	}
}

// dot is the product of two vectors of signed bytes of one length. Eight at a time
// need one check of the bounds.
func dot(a, b []byte) int32 {
	var s, t int32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]byte)(a), (*[8]byte)(b)
		s += times(x[0], y[0]) + times(x[1], y[1]) + times(x[2], y[2]) + times(x[3], y[3])
		t += times(x[4], y[4]) + times(x[5], y[5]) + times(x[6], y[6]) + times(x[7], y[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s += times(a[i], b[i])
	}
	return s + t
}

func times(a, b byte) int32 { return int32(int8(a)) * int32(int8(b)) }
