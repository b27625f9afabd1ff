package lookup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// maxHolders bounds how many messages of a file are named.
const maxHolders = 20

func (d *description) file(ctx context.Context, id store.PayloadID) error {
	r, a := d.request, &d.answer
	p, err := d.store.Payload(ctx, id)
	if err != nil {
		return lookup(string(id), err)
	}
	holders, err := d.store.Holders(ctx, id, a.Scope.ConversationIDs, maxHolders)
	if err != nil {
		return err
	}
	newest, err := d.holder(ctx, a.Scope, id)
	if err != nil {
		return err
	}
	a.FileDetail = &recall.FileDetail{
		FileName: p.Name, MIMEType: p.MIME, FileKind: p.Kind, ExplorationSummary: p.Summary,
		StoragePath: "lcm://file/" + string(p.ID), OriginalPath: p.Path, MessageIDs: append([]store.MessageID{}, holders...),
	}
	a.ConversationID = newest.Conversation
	a.ID, a.Type, a.CreatedAt = store.ID{Payload: p.ID}, "file", p.Created
	a.TokenCount, a.ByteSize, a.SHA256, a.Damaged = p.Tokens, p.Size, hexSum(p.SHA256), p.Damaged
	w := window{from: r.Offset, to: p.Size, read: func(from, to int64) ([]byte, error) {
		return io.ReadAll(io.NewSectionReader(p.Content, from, to-from))
	}}
	if r.StartLine > 0 || r.EndLine > 0 {
		if w.from, w.to, err = lines(p, max(1, r.StartLine), r.EndLine); err != nil {
			return err
		}
	}
	return d.cut(w)
}

// lines returns the bytes of a range of lines. An end of 0 is the last line. A
// range that begins behind the last line is refused, wherever it ends.
func lines(p store.Payload, first, last int) (from, to int64, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(p.Content, 0, p.Size), 256<<10)
	at := int64(0)
	for n := 1; last == 0 || n <= last; n++ {
		if n == first {
			from = at
			if last == 0 && at < p.Size {
				return from, p.Size, nil
			}
		}
		size, err := skipLine(r)
		at += size
		if errors.Is(err, io.EOF) {
			if n < first || n == first && size == 0 {
				return 0, 0, refuse("", "%s has %s: there is no line %d", p.ID, prose.Plural(n-1+min(1, int(size)), "line", "lines"), first)
			}
			return from, p.Size, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return from, at, nil
}

// skipLine reads past one line and returns its size.
func skipLine(r *bufio.Reader) (size int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		size += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return size, err
		}
	}
}

// window is the part of a content that was asked for.
type window struct {
	from, to int64
	read     func(from, to int64) ([]byte, error)
}

// cut fills in the content of an answer: the range that was asked for, and of
// it as much as the bounds allow.
func (d *description) cut(w window) error {
	r, a := d.request, &d.answer
	if w.from > w.to {
		return refuse("", "offset %d lies behind the end of %s, which has %s", w.from, a.ID, prose.Plural(int(w.to), "byte", "bytes"))
	}
	if r.Length > 0 && r.Length < w.to-w.from {
		w.to = w.from + r.Length
	}
	digest := question(d.store, "content", a.ID, w.from, w.to, r.ConversationID, r.AllConversations, r.Current)
	at, err := unseal[spot](r.Cursor, digest)
	if err != nil {
		return err
	}
	from := w.from + int64(at.Offset)
	if from < w.from || from > w.to {
		return refuse(cursorHint, "the cursor is damaged")
	}
	text, err := w.read(from, from+enough(r, w.to-from))
	if err != nil {
		return fmt.Errorf("read %s: %w", a.ID, err)
	}
	text = d.bounded(text)
	a.Content, a.Offset = string(text), from
	done := from + int64(len(text))
	a.Truncated = from > 0 || done < w.to
	if done < w.to {
		a.NextCursor = seal(digest, spot{Offset: int(done - w.from)})
		a.Notes = append(a.Notes, fmt.Sprintf("bytes %d to %d of %d: ask again with cursor set to nextCursor", from, done, w.to))
	}
	return nil
}

// bytesPerToken is more than any tokenizer in use makes a token of, blanks
// aside.
const bytesPerToken = 32

// enough is how many of the bytes that remain are worth reading within the
// bounds. The bounds are compared with the remaining bytes and never added to
// or multiplied first: a caller may send the largest integer there is.
func enough(r recall.DescribeRequest, remain int64) int64 {
	if r.MaxBytes > 0 && int64(r.MaxBytes) < remain-utf8.UTFMax {
		remain = int64(r.MaxBytes) + utf8.UTFMax
	}
	if r.MaxTokens > 0 && int64(r.MaxTokens) < remain/bytesPerToken {
		remain = min(remain, int64(r.MaxTokens)*bytesPerToken+utf8.UTFMax)
	}
	return remain
}

// bounded cuts text between characters to the bounds of a request.
func (d *description) bounded(text []byte) []byte {
	r := d.request
	if r.MaxBytes > 0 && len(text) > r.MaxBytes {
		n := boundary(text, r.MaxBytes)
		if n == 0 {
			_, n = utf8.DecodeRune(text)
		}
		text = text[:n]
	}
	if r.MaxTokens > 0 {
		text = text[:d.fit(text, r.MaxTokens)]
	}
	return text
}
