package ui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/recall/why"
	"github.com/lossless-context/lcm/internal/record/store"
)

// whyData is the data of the page of a file that tools changed: the prompts that led to the
// changes, and the sessions that they are in.
type whyData struct {
	why.Answer
	Path     string    `json:"path"` // as the call names it
	Name     string    `json:"-"`
	Sessions []Session `json:"sessions"`
	Later    string    `json:"-"` // the path of the changes, if they are loaded later
}

func (d whyData) title() string { return "Why " + d.Name }

// whyPath returns the path of the page of a file that a call of a session names.
func whyPath(session store.ConversationID, file string) string {
	return "/why?" + url.Values{"file": {file}, "session": {fmt.Sprint(session)}}.Encode()
}

// whyPage shows the prompts that changed ?file=, a path in a call of ?session=. It reads the
// record, never the file.
func (s *Server) whyPage(r *http.Request) (d whyData, err error) {
	ctx := r.Context()
	file := r.URL.Query().Get("file")
	d = whyData{Path: file, Name: base(file), Sessions: []Session{}}
	n, err := positive(r, "session", 0)
	if err == nil && (d.Path == "" || n == 0) {
		err = hint.New("Open it from a tool call of a session.", "The address names no file, or no session.")
		return d, errors.Join(err, errBadRequest)
	}
	if err != nil {
		return d, err
	}
	c, err := s.record.Conversation(ctx, store.ConversationID(n))
	if err != nil {
		return d, missing(err, "session", r.URL.Query().Get("session"))
	}
	if later(r) {
		d.Later = r.URL.RequestURI()
		return d, nil
	}
	q := store.ConversationQuery{Project: &c.Project}
	if c.Project.Name() == "" {
		q = store.ConversationQuery{}
	}
	among, err := s.record.Conversations(ctx, q)
	if err != nil {
		return d, err
	}
	file = strings.TrimPrefix(file, strings.TrimSuffix(c.Project.Root, "/")+"/")
	if d.Answer, err = why.OfFile(ctx, s.Engine.Store(), c.Project.Root, file, among); err != nil {
		return d, err
	}
	for _, o := range d.Origins {
		if slices.ContainsFunc(d.Sessions, func(known Session) bool { return known.ID == o.Conversation }) {
			continue
		}
		at := slices.IndexFunc(among, func(c store.Conversation) bool { return c.ID == o.Conversation })
		one, err := s.session(ctx, among[at])
		if err != nil {
			return d, err
		}
		d.Sessions = append(d.Sessions, one)
	}
	return d, nil
}
