package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/store"
)

// askData is the data of the page that answers a question.
type askData struct {
	Question string      `json:"question"`
	Answer   *lcm.Answer `json:"answer,omitempty"`
	Passages []Passage   `json:"passages,omitempty"`
	Later    string      `json:"-"` // the path of the passages, if they are loaded later
}

// Passage is a part of a message or summary that the answer rests on.
type Passage struct {
	Reference
	Before string `json:"before"` // the text before and after the quote
	Quote  string `json:"quote"`
	After  string `json:"after"`
}

// around is how many bytes of a text are shown before and after a quote.
const around = 300

// passage returns a citation with the text around its quote.
func (s *reader) passage(ctx context.Context, c lcm.Citation) (p Passage, err error) {
	id, err := store.ParseID(cmp.Or(c.MessageID, c.ID))
	if err != nil {
		return p, err
	}
	all, err := s.references(ctx, []store.Node{{Message: id.Message, Summary: id.Summary}})
	if err != nil {
		return p, err
	}
	p = Passage{Reference: all[0], Quote: c.Quote}
	text, err := s.record.Text(ctx, store.Node{Message: id.Message, Summary: id.Summary})
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return p, err
	}
	quote := strings.Trim(c.Quote, "… ")
	if before, after, found := strings.Cut(string(text), quote); found {
		before, quote, after = wholeWords(before, quote, after)
		p.Before, p.Quote, p.After = clipStart(before, around), quote, prose.Clip(after[:min(len(after), 8*around)], around)
	}
	return p, nil
}

// longestWord is how many bytes wholeWords adds to a quote at each end.
const longestWord = 40

// wholeWords extends a quote that begins or ends inside a word to the ends of the word.
func wholeWords(before, quote, after string) (string, string, string) {
	inWord := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if n := len(before) - len(strings.TrimRightFunc(before, inWord)); n <= longestWord && strings.IndexFunc(quote, inWord) == 0 {
		before, quote = before[:len(before)-n], before[len(before)-n:]+quote
	}
	last, _ := utf8.DecodeLastRuneInString(quote)
	if n := len(after) - len(strings.TrimLeftFunc(after, inWord)); n <= longestWord && inWord(last) {
		quote, after = quote+after[:n], after[n:]
	}
	return before, quote, after
}

// clipStart returns the end of a text.
func clipStart(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-n:], "")
}

func (askData) title() string { return "Ask" }

// byModel reports whether a model wrote the answer.
func (d askData) byModel() bool { return d.Answer.Method == delegation.MethodDelegated }

// nothing reports whether nothing was found.
func (d askData) nothing() bool { return d.Answer.Method == delegation.MethodNone }

const (
	askTime         = 2 * time.Minute
	longestQuestion = 4000 // characters, as the form says
)

// askPage answers with passages of the record: following a link spends nothing.
func (s *Server) askPage(r *http.Request) (askData, error) {
	return s.ask(r, r.URL.Query().Get("q"), delegation.OutputEvidence)
}

// askModel answers with the configured model.
func (s *Server) askModel(r *http.Request) (askData, error) {
	return s.ask(r, r.PostFormValue("q"), delegation.OutputAnswer)
}

func (s *Server) ask(r *http.Request, question, output string) (askData, error) {
	d := askData{Question: question}
	if strings.TrimSpace(question) == "" {
		return d, nil
	}
	if n := utf8.RuneCountInString(question); n > longestQuestion {
		return d, refused("a question has at most %d characters, and this one has %d", longestQuestion, n)
	}
	if output == delegation.OutputEvidence && later(r) {
		d.Later = r.URL.RequestURI()
		return d, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	a, err := s.Engine.Ask(ctx, lcm.Question{Prompt: question, Query: question, Where: everywhere, Output: output})
	if err != nil {
		return d, err
	}
	d.Answer = &a
	for _, c := range a.Citations {
		p, err := s.passage(ctx, c)
		if err != nil {
			return d, err
		}
		d.Passages = append(d.Passages, p)
	}
	return d, nil
}
