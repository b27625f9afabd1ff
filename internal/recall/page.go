package recall

import (
	"context"
	"fmt"
	"iter"
)

// page fills an answer of Expand up to its cap.
type page struct {
	*Service
	answer *ExpandAnswer
	left   int // tokens
	raw    bool
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
	piece, text, err := p.read(ctx, st)
	if err != nil {
		return false, err
	}
	if p.at.Offset > 0 && (p.at.Node != piece.ID || p.at.Size != len(text) || p.at.Offset > len(text)) {
		return false, refuse("begin anew without a cursor", "%s was reworded since the cursor was made", piece.ID)
	}
	rest := text[p.at.Offset:]
	n := p.fit(rest, p.left)
	cost := p.cost(rest[:n])
	if len(p.answer.Pieces) > 0 && (cost > p.left || n < len(rest) && p.left < crumb) {
		return true, nil
	}
	piece.Text, piece.Offset, piece.Size = string(rest[:n]), p.at.Offset, len(text)
	piece.Complete = n == len(rest)
	piece.Tokens = cost
	p.answer.Pieces = append(p.answer.Pieces, piece)
	p.answer.Tokens += piece.Tokens
	p.left -= piece.Tokens
	if piece.Complete {
		p.at = spot{Done: p.at.Done + 1}
		return false, nil
	}
	p.at = spot{Done: p.at.Done, Node: piece.ID, Offset: p.at.Offset + n, Size: len(text)}
	return true, nil
}

// read loads a node's text.
func (p *page) read(ctx context.Context, st step) (Piece, []byte, error) {
	piece := Piece{ID: st.Node.String(), Type: "message", Level: st.level}
	if st.IsSummary() {
		sum, err := p.summary(ctx, st.Summary)
		piece.Type, piece.ConversationID, piece.CreatedAt, piece.Depth = "summary", sum.Conversation, sum.CreatedAt, &sum.Depth
		piece.Damaged = sum.Damaged
		return piece, []byte(sum.Body), err
	}
	m, err := p.message(ctx, st.Message)
	if err != nil {
		return piece, nil, err
	}
	piece.ConversationID, piece.CreatedAt, piece.Role = m.Conversation, m.Body.Time, m.Body.Role
	var text []byte
	if p.raw {
		text, err = p.store.Record(ctx, m.ID)
		if piece.Damaged, err = harmless(err); err == nil {
			text = masked(m, text)
		}
	} else {
		text, piece.Damaged, err = p.original(ctx, m)
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
