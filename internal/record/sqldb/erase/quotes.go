package erase

import (
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/state"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A value of State quotes an erased message if both share a run of bytes: all
// runs of quoteRun bytes of the value are compared with every quoteStep-th of
// the text. A quote of quoteRun + quoteStep bytes is always found.
const (
	quoteRun  = 16
	quoteStep = 4
)

// dropTraces removes titles and values of State that quote erased messages.
func (e *erasing) dropTraces() error {
	q, err := e.loadQuotes()
	if err != nil {
		return err
	}
	err = e.Query(`
		SELECT m.id, m.conversation, 0, m.role, m.flags, m.format, m.record, m.body FROM temp.erasing e JOIN messages m ON m.id = e.id`,
		func(s sqldb.Row) error {
			text, err := rows.SearchText(e.Conn, s)
			if err != nil {
				return err
			}
			q.look(text)
			return nil
		})
	if err != nil {
		return err
	}
	for _, t := range q.traces {
		if !t.quotes && (e.order.Quotes == nil || !e.order.Quotes(t.text)) {
			continue
		}
		if err := t.drop(); err != nil {
			return err
		}
		*t.count++
	}
	return state.Clear(e.Conn, `expires IS NOT NULL AND expires <= ? AND length(data) > 0`, e.now)
}

// quotes are the titles and values that may quote erased messages.
type quotes struct {
	traces []*trace
	titles store.TitleQuotes
	runs   map[[quoteRun]byte][]*trace // the values that have a run of bytes
}

// trace is a title or a value of State.
type trace struct {
	text   string
	quotes bool
	drop   func() error
	count  *int
}

func (e *erasing) loadQuotes() (*quotes, error) {
	q := &quotes{runs: map[[quoteRun]byte][]*trace{}}
	err := e.Query(`SELECT id, title FROM conversations WHERE id IN (SELECT id FROM temp.touched) AND title <> ''`, func(s sqldb.Row) error {
		id, text := s.ColumnInt64(0), s.ColumnText(1)
		t := &trace{text: text, quotes: e.whole[id],
			drop: func() error { return e.Exec(`UPDATE conversations SET title = '' WHERE id = ?`, id) }, count: &e.out.Titles}
		q.traces = append(q.traces, t)
		if !t.quotes {
			q.titles.Add(text, func() { t.quotes = true })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = e.Query(`SELECT space, key, data FROM state WHERE length(data) > 0 AND (expires IS NULL OR expires > ?)`, func(s sqldb.Row) error {
		space, key, data := s.ColumnText(0), s.ColumnText(1), s.ColumnBlob(2, nil)
		if s, err := store.SpaceNamed(space); err == nil && !s.Text {
			return nil // a space that only another version knows may have text
		}
		t := &trace{text: string(data), drop: func() error { return state.Clear(e.Conn, `space = ? AND key = ?`, space, key) }, count: &e.out.Values}
		q.traces = append(q.traces, t)
		for i := 0; i+quoteRun <= len(data); i++ {
			run := [quoteRun]byte(data[i:])
			if at := q.runs[run]; len(at) == 0 || at[len(at)-1] != t {
				q.runs[run] = append(at, t)
			}
		}
		return nil
	}, e.now)
	return q, err
}

// look marks the titles and values that quote a text.
func (q *quotes) look(text []byte) {
	q.titles.Look(string(text))
	for i := 0; len(q.runs) > 0 && i+quoteRun <= len(text); i += quoteStep {
		for _, t := range q.runs[[quoteRun]byte(text[i:])] {
			t.quotes = true
		}
	}
}
