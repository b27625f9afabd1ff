package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/lossless-context/lcm/internal/record/store"
)

// baseline searches with FTS5.
type baseline struct {
	conn  *sqlite3.Conn
	match func(question string) string
}

// The statements of both baselines. The ranking is FTS5's own bm25.
const (
	createBaseline = `CREATE VIRTUAL TABLE text USING fts5(body, conversation UNINDEXED, tokenize = '%s')`
	insertBaseline = `INSERT INTO text (rowid, body, conversation) VALUES (?, ?, ?)`
	searchBaseline = `SELECT rowid FROM text WHERE text MATCH ? AND conversation = ? ORDER BY rank, rowid LIMIT 200`
	searchAnywhere = `SELECT rowid FROM text WHERE text MATCH ? ORDER BY rank LIMIT 10`
)

// andWords asks for every word of the question, as FTS5 reads a plain string.
func andWords(question string) string { return strings.Join(quotedWords(question, nil), " ") }

// orWords asks for any word that is not a function word.
func orWords(question string) string {
	words := quotedWords(question, functionWords)
	if len(words) == 0 {
		words = quotedWords(question, nil)
	}
	return strings.Join(words, " OR ")
}

func quotedWords(question string, without map[string]bool) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		if !without[w] {
			out = append(out, `"`+w+`"`)
		}
	}
	return out
}

func newBaseline(ctx context.Context, c *corpus, tokenizer string, match func(string) string) (*baseline, error) {
	conn, err := sqlite3.OpenContext(ctx, ":memory:")
	if err != nil {
		return nil, fmt.Errorf("open the baseline's database: %w", err)
	}
	b := &baseline{conn, match}
	if err := b.fill(c, tokenizer); err != nil {
		return nil, fmt.Errorf("fill the baseline's table: %w", errors.Join(err, conn.Close()))
	}
	return b, nil
}

func (b *baseline) fill(c *corpus, tokenizer string) error {
	if err := fts5.Register(b.conn); err != nil {
		return err
	}
	if err := b.conn.Exec(fmt.Sprintf(createBaseline, tokenizer)); err != nil {
		return err
	}
	insert, _, err := b.conn.Prepare(insertBaseline)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, d := range c.docs {
		if err := errors.Join(insert.BindInt64(1, d.ID), insert.BindRawText(2, d.Text), insert.BindInt64(3, d.Conversation)); err != nil {
			return err
		}
		if err := insert.Exec(); err != nil {
			return err
		}
	}
	return nil
}

func (b *baseline) search(_ context.Context, q Question, conversation int64) ([]int64, error) {
	match := b.match(q.Text)
	if match == "" {
		return nil, nil
	}
	return rows[int64](b.conn, searchBaseline, func(s *sqlite3.Stmt) error {
		return errors.Join(s.BindText(1, match), s.BindInt64(2, conversation))
	})
}

// anywhere searches all conversations.
func (b *baseline) anywhere(question string) ([]store.MessageID, error) {
	return rows[store.MessageID](b.conn, searchAnywhere, func(s *sqlite3.Stmt) error { return s.BindText(1, b.match(question)) })
}

func rows[ID ~int64](conn *sqlite3.Conn, statement string, bind func(*sqlite3.Stmt) error) (out []ID, err error) {
	stmt, _, err := conn.Prepare(statement)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	if err := bind(stmt); err != nil {
		return nil, err
	}
	for stmt.Step() {
		out = append(out, ID(stmt.ColumnInt64(0)))
	}
	return out, stmt.Err()
}

func (b *baseline) close() error { return b.conn.Close() }

// functionWords is the baseline's own list, so that a change of the engine's
// list does not change the baseline.
var functionWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`a about after all also am an and any are as at be because been before being but by can could did do does doing
		for from had has have having he her here hers him his how i if in into is it its just me more most my no nor not of off on
		once only or other our out over own s same she should so some such t than that the their them then there these they this
		those through to too under until up very was we were what when where which while who whom whose why will with would you your`) {
		set[w] = true
	}
	return set
}()
