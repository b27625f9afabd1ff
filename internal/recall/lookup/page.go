package lookup

import (
	"context"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/lossless-context/lcm/recall"
)

// page fills an answer of Expand or Describe up to its cap.
type page struct {
	*Service
	answer *recall.ExpandAnswer
	left   int  // tokens
	binary bool // also files that are no text
	at     spot
}

// fill takes pieces from a walk, from the spot on, and reports whether there
// is more.
func (p *page) fill(ctx context.Context, steps iter.Seq2[step, error]) (more bool, err error) {
	if p.at.Done < 0 || p.at.Offset < 0 {
		return false, refuse(cursorHint, "the cursor is damaged")
	}
	n := 0
	for st, err := range steps {
		if err != nil {
			return false, err
		}
		if n++; n <= p.at.Done {
			continue
		}
		if len(p.answer.Pieces) == maxPieces || p.left <= 0 && len(p.answer.Pieces) > 0 {
			return true, nil
		}
		full, err := p.add(ctx, st)
		if err != nil || full {
			return full, err
		}
	}
	if n < p.at.Done || p.at.Offset > 0 {
		return false, refuse(cursorHint, "the cursor points behind the end")
	}
	return false, nil
}

// add puts a node on the page, or as much of it as there is room for; full
// says that this was not all.
func (p *page) add(ctx context.Context, st step) (full bool, err error) {
	piece, rest, err := p.read(ctx, st)
	if err != nil {
		return false, err
	}
	piece.Damaged = piece.Damaged || st.damaged
	if p.at.Offset > 0 && (p.at.Node != piece.ID.String() || p.at.Size != piece.Size || p.at.Offset > piece.Size) {
		return false, refuse("begin anew without a cursor", "%s was reworded since the cursor was made", piece.ID)
	}
	n := Fit(p.counter.Count, rest, p.left)
	if n == 0 { // at least one character, so that pages go on
		_, n = utf8.DecodeRune(rest)
	}
	piece.Text, piece.Offset = string(rest[:n]), p.at.Offset
	if n > 0 {
		piece.Tokens = p.counter.Count(piece.Text)
	}
	piece.Complete = p.at.Offset+n == piece.Size || rest == nil
	if len(p.answer.Pieces) > 0 && (piece.Tokens > p.left || !piece.Complete && p.left < crumb) {
		return true, nil
	}
	p.answer.Pieces = append(p.answer.Pieces, piece)
	p.answer.Tokens += piece.Tokens
	p.left -= piece.Tokens
	if piece.Complete {
		p.at = spot{Done: p.at.Done + 1}
		return false, nil
	}
	p.at = spot{Done: p.at.Done, Node: piece.ID.String(), Offset: p.at.Offset + n, Size: piece.Size}
	return true, nil
}

// read loads the text of a node from the offset of the page on. A file that is no text has
// none.
func (p *page) read(ctx context.Context, st step) (piece recall.Piece, rest []byte, err error) {
	piece = recall.Piece{ID: st.ID, Type: "message", Level: st.level}
	switch {
	case st.IsSummary():
		sum, err := p.summary(ctx, st.Summary)
		piece.Type, piece.ConversationID, piece.CreatedAt, piece.Depth = "summary", sum.Conversation, sum.CreatedAt, &sum.Depth
		piece.Damaged = sum.Damaged
		return p.whole(piece, []byte(sum.Body), err)
	case st.Payload != "":
		return p.file(ctx, piece, st)
	}
	m := st.holder
	if m.ID == 0 {
		if m, err = p.message(ctx, st.Message); err != nil {
			return piece, nil, err
		}
	}
	piece.ConversationID, piece.CreatedAt, piece.Role = m.Conversation, m.Body.Time, m.Body.Role
	said, err := Original(ctx, p.store, m)
	piece.Damaged, err = harmless(err)
	return p.whole(piece, []byte(said), err)
}

// whole returns the rest of a text that is in memory.
func (p *page) whole(piece recall.Piece, text []byte, err error) (recall.Piece, []byte, error) {
	piece.Size = len(text)
	return piece, text[min(p.at.Offset, len(text)):], err
}

// file reads as much of a file as the page may hold.
func (p *page) file(ctx context.Context, piece recall.Piece, st step) (recall.Piece, []byte, error) {
	f, err := p.store.Payload(ctx, st.Payload)
	if err != nil {
		return piece, nil, lookup(string(st.Payload), err)
	}
	piece.Type, piece.ConversationID, piece.CreatedAt, piece.Damaged, piece.Size = "file", st.holder.Conversation, f.Created, f.Damaged, int(f.Size)
	from := min(int64(p.at.Offset), f.Size)
	most := f.Size - from
	if int64(p.left) < most/bytesPerToken { // compared before it is multiplied: a caller may send the largest integer there is
		most = int64(p.left) * bytesPerToken
	}
	text, err := io.ReadAll(io.NewSectionReader(f.Content, from, min(most+utf8.UTFMax, f.Size-from)))
	if text = text[:Boundary(text, int(most))]; err == nil && !p.binary && !utf8.Valid(text) {
		note(&p.answer.Notes, fmt.Sprintf("%s holds no text: lcm_describe says what is known of it", st.Payload))
		text = nil
	}
	return piece, text, err
}

// rest says where the page ends.
func (p *page) rest() string {
	if p.at.Offset > 0 {
		return fmt.Sprintf("the page ends inside %s, %d of %d bytes in: ask again with cursor set to nextCursor", p.at.Node, p.at.Offset, p.at.Size)
	}
	return "there is more: ask again with cursor set to nextCursor"
}
