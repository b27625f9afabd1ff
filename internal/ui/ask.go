package ui

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// askData is the data of the page that answers a question.
type askData struct {
	Question string         `json:"question"`
	Answer   *recall.Answer `json:"answer,omitempty"`
	Passages []Passage      `json:"passages,omitempty"`
	Later    string         `json:"-"` // the path of the passages, if they are loaded later
}

// Passage is a part of a message or summary that the answer rests on.
type Passage struct {
	Reference
	Quote string `json:"quote"`
}

func (askData) title() string { return "Ask" }

// byModel reports whether a model wrote the answer.
func (d askData) byModel() bool { return d.Answer.Method == recall.MethodDelegated }

// nothing reports whether nothing was found.
func (d askData) nothing() bool { return d.Answer.Method == recall.MethodNone }

const (
	askTime         = 2 * time.Minute
	longestQuestion = 4000 // characters, as the form says
)

// askPage answers with passages of the record: following a link spends nothing.
func (s *Server) askPage(r *http.Request) (askData, error) {
	return s.ask(r, r.URL.Query().Get("q"), recall.OutputEvidence)
}

// askModel answers with the configured model.
func (s *Server) askModel(r *http.Request) (askData, error) {
	return s.ask(r, r.PostFormValue("q"), recall.OutputAnswer)
}

func (s *Server) ask(r *http.Request, question, output string) (askData, error) {
	d := askData{Question: question}
	if strings.TrimSpace(question) == "" {
		return d, nil
	}
	if n := utf8.RuneCountInString(question); n > longestQuestion {
		return d, refused("a question has at most %d characters, and this one has %d", longestQuestion, n)
	}
	if output == recall.OutputEvidence && later(r) {
		d.Later = r.URL.RequestURI()
		return d, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	a, err := s.Engine.Ask(ctx, recall.Question{Prompt: question, Query: question, Where: everywhere, Output: output})
	if err != nil {
		return d, err
	}
	d.Answer = &a
	for _, c := range a.Citations {
		all, err := s.references(ctx, []store.Node{c.Source()})
		if err != nil {
			return d, err
		}
		d.Passages = append(d.Passages, Passage{all[0], c.Quote})
	}
	return d, nil
}
