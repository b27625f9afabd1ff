package ui

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/delegation"
	"github.com/lossless-context/lcm/internal/safetext"
)

// askData is the data of the page that answers a question.
type askData struct {
	Question string      `json:"question"`
	Answer   *lcm.Answer `json:"answer,omitempty"`
	Refused  string      `json:"refused,omitempty"`
}

func (askData) title() string { return "Ask" }

// byModel reports whether a model wrote the answer.
func (d askData) byModel() bool { return d.Answer.Method == delegation.MethodDelegated }

// nothing reports whether nothing was found.
func (d askData) nothing() bool { return d.Answer.Method == delegation.MethodNone }

const askTime = 2 * time.Minute

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
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	a, err := s.Engine.Ask(ctx, lcm.Question{Prompt: question, Query: question, Where: everywhere, Output: output})
	if err != nil && status(err) == http.StatusBadRequest {
		d.Refused = safetext.Line(message(err))
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.Answer = &a
	return d, nil
}
