package proxy

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// identity names the host and the session of a request, as the host's transcripts name it.
// Without them the request passes unchanged. The requests of a run are those of its host:
// programs that were made from one another have the same headers.
func (s *Server) identity(h http.Header) (host, session string) {
	known := all.Those[launch.Host]()
	if i := slices.IndexFunc(known, func(h launch.Host) bool { return h.About().Name == s.Run.Host }); i >= 0 {
		known = known[i : i+1]
	}
	for _, host := range known {
		if id := host.Session(h); id != "" {
			return host.About().Name, id
		}
	}
	return "", ""
}

// byCalls returns the session of a request that does not name it: that of the run's sessions
// which has most of the request's tool calls, or else one of its texts. Only if there is none
// it looks for new sessions. A wrong session does no harm: only summaries of messages that
// are in the request are used.
func (s *Server) byCalls(r *http.Request, form apiform.Form, body []byte) string {
	req, err := apiform.ParseAfter(s.unnamed.Load(), form, body)
	if err != nil {
		return ""
	}
	s.unnamed.Store(req)
	if id := closest(s.all(), req); id != "" {
		return id
	}
	wait, model := s.patience, cmp.Or(req.Model, apiform.ModelOf(r.URL.Path))
	if window, _ := s.window(r.Header, model); float64(req.Units)*s.cal.of(s.ctx, model).Ratio > float64(most(window)) {
		wait = hostPatience
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	found := s.discover(ctx)
	for _, one := range found {
		one.wait(ctx)
	}
	return closest(found, req)
}

// closest returns the id of the session that shares most with a request, of two the newer one.
func closest(sessions []*session, req *apiform.Request) (id string) {
	most, newest := 0, store.ConversationID(0)
	for _, one := range sessions {
		if n, conv := one.shared(req); n > most || n == most && n > 0 && conv > newest {
			id, most, newest = one.id, n, conv
		}
	}
	return id
}

// discover returns the sessions that were written to since the run began, and has them read.
func (s *Server) discover(ctx context.Context) (found []*session) {
	recent, err := s.Feed.Recent(ctx, hosts.Filter{Hosts: []string{s.Run.Host}, Since: s.Run.Started})
	if err != nil {
		s.warnOnce("the sessions of the agent cannot be listed; this is said once", "error", err)
	}
	for _, t := range recent {
		one := s.session(s.Run.Host, t.Session)
		one.kick()
		found = append(found, one)
	}
	return found
}

// wait waits until the session was read once, or the record has it.
func (s *session) wait(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.viewTokens == 0 && (s.turns == 0 || s.unread) && ctx.Err() == nil {
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
}

// shared returns how many calls of a request the record of the session has, or 1 if it has
// only one of its texts.
func (s *session) shared(r *apiform.Request) (int, store.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.index.Calls(r)
	if n == 0 && s.index.Last(r) != 0 {
		n = 1
	}
	return n, s.conv
}

// subscription reports whether a request has a subscription login instead of an API
// key.
func subscription(h http.Header) bool {
	return strings.HasPrefix(h.Get("Authorization"), "Bearer sk-ant-oat") ||
		strings.Contains(h.Get("Anthropic-Beta"), "oauth") ||
		h.Get("Chatgpt-Account-Id") != ""
}
