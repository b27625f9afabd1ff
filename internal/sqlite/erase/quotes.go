package erase

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/sqlite/state"
)

// A value of State quotes an erased message if both share a run of bytes: all
// runs of quoteRun bytes of the value are compared with every quoteStep-th of
// the text. A quote of quoteRun + quoteStep bytes is always found.
const (
	quoteRun  = 16
	quoteStep = 4
)

// wordless are the spaces of State that hold no text of messages.
var wordless = []string{"lease", "compact", "spend", "breaker", state.CursorSpace}

// dropTraces removes titles and values of State that quote erased messages.
func (e *erasing) dropTraces() error {
	q, err := e.loadQuotes()
	if err != nil {
		return err
	}
	err = e.Query(`
		SELECT m.id, m.conversation, 0, m.role, m.flags, m.format, m.record, m.body FROM temp.erasing e JOIN messages m ON m.id = e.id`,
		func(s *sqlite3.Stmt) error {
			text, err := record.SearchText(e.Conn, s)
			if err != nil {
				return err
			}
			q.look(text)
			return nil
		})
	if err != nil {
		return err
	}
	for id, t := range q.titles {
		if !t.quotes && (e.order.Quotes == nil || !e.order.Quotes(t.text)) {
			continue
		}
		if err := e.Exec(`UPDATE conversations SET title = '' WHERE id = ?`, id); err != nil {
			return err
		}
		e.out.Titles++
	}
	for i, v := range q.values {
		if !q.quoting[i] && (e.order.Quotes == nil || !e.order.Quotes(string(v.data))) {
			continue
		}
		if err := e.Exec(`UPDATE state SET expires = 0, data = x'' WHERE space = ? AND key = ?`, v.space, v.key); err != nil {
			return err
		}
		e.out.Values++
	}
	return e.Exec(`UPDATE state SET data = x'' WHERE expires IS NOT NULL AND expires <= ?`, e.now)
}

// quotes are the titles and values that may quote erased messages.
type quotes struct {
	titles  map[int64]*title
	values  []value
	runs    map[[quoteRun]byte][]int // which values have a run of bytes
	quoting map[int]bool
}

type title struct {
	text   string
	lower  []byte
	quotes bool
}

type value struct {
	space, key string
	data       []byte
}

func (e *erasing) loadQuotes() (*quotes, error) {
	q := &quotes{titles: map[int64]*title{}, runs: map[[quoteRun]byte][]int{}, quoting: map[int]bool{}}
	err := e.Query(`SELECT id, title FROM conversations WHERE id IN (SELECT id FROM temp.touched) AND title <> ''`, func(s *sqlite3.Stmt) error {
		text := s.ColumnText(1)
		q.titles[s.ColumnInt64(0)] = &title{text: text, lower: titleWords(text), quotes: e.whole[s.ColumnInt64(0)]}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = e.Query(`SELECT space, key, data FROM state WHERE length(data) > 0 AND (expires IS NULL OR expires > ?)`, func(s *sqlite3.Stmt) error {
		v := value{s.ColumnText(0), s.ColumnText(1), s.ColumnBlob(2, nil)}
		if slices.Contains(wordless, v.space) {
			return nil
		}
		n := len(q.values)
		q.values = append(q.values, v)
		for i := 0; i+quoteRun <= len(v.data); i++ {
			run := [quoteRun]byte(v.data[i:])
			if at := q.runs[run]; len(at) == 0 || at[len(at)-1] != n {
				q.runs[run] = append(at, n)
			}
		}
		return nil
	}, e.now)
	return q, err
}

// titleWords normalises a title for comparison: lower case, without a trailing
// ellipsis.
func titleWords(text string) []byte {
	return bytes.TrimSpace(bytes.ToLower([]byte(strings.TrimRight(strings.TrimSpace(text), "…."))))
}

// look marks the titles and values that quote a text.
func (q *quotes) look(text []byte) {
	for _, t := range q.titles {
		if !t.quotes && len(t.lower) > 0 && bytes.Contains(bytes.ToLower(text), t.lower) {
			t.quotes = true
		}
	}
	if len(q.runs) == 0 {
		return
	}
	for i := 0; i+quoteRun <= len(text); i += quoteStep {
		for _, n := range q.runs[[quoteRun]byte(text[i:])] {
			q.quoting[n] = true
		}
	}
}
