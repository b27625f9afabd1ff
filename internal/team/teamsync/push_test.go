package teamsync_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/privacy"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
)

// The server gets each message once, and is told of each erasure once: of those up to the last message
// that it has, and only those.
func TestPush(t *testing.T) {
	m := newMachine(t)
	m.say("a", "one two three")
	m.say("b", "four")
	var told []int64
	m.Pushed = func(r teamsync.Report) { told = append(told, r.Messages) }
	m.push(teamsync.Report{Conversations: 2, Messages: 4}, "push a 0-3: one two three", "push b 0-1: four")
	if !slices.Equal(told, []int64{3, 4}) {
		t.Errorf("after the batches it tells of %v messages", told)
	}
	m.push(teamsync.Report{})
	m.say("a", "five six")
	m.forget("a", 2, 3)
	m.keeper.rights.Append = false
	m.keeper.asked = nil
	r, err := m.Push(t.Context())
	if err == nil || !strings.Contains(err.Error(), "may not push") {
		t.Error(err)
	}
	m.want(r, teamsync.Report{Erased: 1}, "erase a [3] false")
	m.keeper.rights.Append = true
	m.push(teamsync.Report{Conversations: 1, Messages: 1}, "push a 3-5: six") // message 4 was never there
	m.push(teamsync.Report{})
	m.keeper.rights.Erase = false
	m.forget("a", 0)
	m.push(teamsync.Report{EraseDenied: 3})
	m.forget("b")
	m.keeper.rights.Erase = true
	m.push(teamsync.Report{Erased: 3}, "erase b [] true", "erase a [1 3 4] false")
	m.say("c", "seven eight")
	m.forget("c", 1)
	m.push(teamsync.Report{Conversations: 1, Messages: 1, Erased: 1}, "push c 0-2: seven", "erase c [2] false")
	if mark := m.keeper.has["c"].Mark; mark != "" {
		t.Errorf("the mark %q is not of the last message, which was erased", mark)
	}
}

// A session that was erased here is erased there whole, also if the receipt of its messages got lost.
func TestPushOfAnErasureAfterALostReceipt(t *testing.T) {
	m := newMachine(t)
	m.say("a", "one two three")
	m.keeper.answer = func(request string) (int, any) {
		if strings.HasPrefix(request, "push") {
			return http.StatusBadGateway, nil
		}
		return 0, nil
	}
	if _, err := m.Push(t.Context()); err == nil {
		t.Error("a receipt that did not arrive is no error")
	}
	m.keeper.answer = nil
	m.forget("a")
	m.push(teamsync.Report{}, "erase a [] true")
}

// What is private or not the token's stays here, also the messages that a session adds after it was pushed.
func TestPushLeavesOut(t *testing.T) {
	m := newMachine(t)
	m.say("a", "one")
	m.say("b", "two")
	m.say("c", "three")
	m.keeper.rights.Projects = []string{"/src/a", "/src/c"}
	m.Private = []string{"/src/a"}
	m.push(teamsync.Report{Conversations: 1, Messages: 1, Private: 1, Denied: []string{"/src/b"}}, "push c 0-1: three")
	m.Private, m.Privacy.IgnoreSessions = nil, []string{"c"}
	m.say("c", "four")
	m.push(teamsync.Report{Conversations: 1, Messages: 1, Private: 1, Denied: []string{"/src/b"}}, "push a 0-1: one")
	m.keeper.rights.Projects = []string{"/src/b"}
	m.push(teamsync.Report{Conversations: 1, Messages: 1, Private: 1}, "push b 0-1: two")
	m.forget("a", 0)
	m.forget("c")
	m.push(teamsync.Report{Private: 1, EraseDenied: 1}, "erase c [] true")
}

// A session is pushed up to where it enters a private or an ignored project: what is said there stays.
func TestPushOfASessionThatEntersAPrivateProject(t *testing.T) {
	private, ignored := newMachine(t), newMachine(t)
	private.Private, ignored.Privacy.IgnoreProjects = []string{"/secret"}, []string{"/secret"}
	enters(t, private)
	enters(t, ignored)
}

// enters pushes a session that goes to /secret.
func enters(t *testing.T, m *machine) {
	in := func(key, dir, pad string) {
		t.Helper()
		one := llms.Message{Role: llms.RoleUser, Raw: llms.Raw{Format: llms.FormatText, Bytes: []byte(`{"cwd":"` + dir + `"}` + pad)}}
		if err := m.engine.Session(key).Append(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	in("a", "/src", "")
	m.push(teamsync.Report{Conversations: 1, Messages: 1}, `push a 0-1: {"cwd":"/src"}`)
	in("a", "/src", "")
	in("a", "/secret/x", "")
	m.push(teamsync.Report{Entered: 1})
	// Nothing of it was pushed so far, and the first batch would be without the private project.
	in("b", "/src", strings.Repeat(" ", teamsync.BatchBytes))
	in("b", "/secret", "")
	m.push(teamsync.Report{Entered: 2})
}

// A secret that was masked for the server is compared in its masked form, also after more messages and
// after a push that is repeated.
func TestVerifyMasked(t *testing.T) {
	m := newMachine(t)
	m.Privacy.Redact = privacy.Search
	const secret = "AKIAQ3EGRZ7XKLMWN2PT"
	m.say("a", "one "+secret)
	m.say("b", "two")
	for range 2 {
		r, err := m.Push(t.Context())
		if err != nil || r.Messages > 0 && r.Masked != 1 || strings.Contains(fmt.Sprint(m.keeper.asked), secret) {
			t.Errorf("%+v, %v, %q", r, err, m.keeper.asked)
		}
		if v, err := m.Verify(t.Context()); err != nil || len(v.Differ) > 0 || v.Conversations != 2 {
			t.Errorf("%+v, %v", v, err)
		}
		m.say("a", secret)
	}
	if v, err := m.Verify(t.Context()); err != nil || v.Messages != 4 {
		t.Errorf("%+v, %v", v, err)
	}
	m.say("c", "five") // which was not pushed
	b, _ := m.find("b")
	m.keeper.has["b"].messages[0].SHA256[0]++
	m.keeper.has["a"].erased = []int64{3}
	if v, err := m.Verify(t.Context()); err != nil || !slices.Equal(v.Differ, []store.ConversationID{b}) || v.Conversations != 2 || v.Messages != 3 || v.ErasedThere != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	for _, seq := range []int64{0, 4} {
		m.keeper.has["a"].erased = []int64{seq}
		if v, err := m.Verify(t.Context()); err == nil {
			t.Errorf("message %d, which it never had, was erased: %+v", seq, v)
		}
	}
}

// What another machine erased is erased here too, once, if it was sent there from here; what came from
// there, or was never sent, stays.
func TestForget(t *testing.T) {
	for name, c := range map[string]struct {
		erased   []int64
		received int // the message that came from there, or 0
		private  bool
		want     []int // the messages that are erased here
		problem  bool
		whole    bool // nothing else is in the session
		here     bool // the first was erased here before
	}{
		"nothing":            {},
		"the first":          {erased: []int64{1}, want: []int{0}},
		"the last":           {erased: []int64{3}, want: []int{2}},
		"in any order":       {erased: []int64{3, 1}, want: []int{0, 2}},
		"all":                {erased: []int64{1, 2, 3}, want: []int{0, 1, 2}},
		"all there is":       {erased: []int64{1, 2, 3}, want: []int{0, 1, 2}, whole: true},
		"all that is left":   {erased: []int64{1, 2, 3}, want: []int{1, 2}, whole: true, here: true},
		"one that came":      {erased: []int64{1, 2}, received: 2, want: []int{0}},
		"it is private now":  {erased: []int64{1}, private: true},
		"one that was wrong": {erased: []int64{4}, problem: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Peer = "aabbccddeeff0011"
			var orders []store.Erasure
			m.Forget = func(_ context.Context, e store.Erasure) error { orders = append(orders, e); return nil }
			m.say("a", "one two three")
			conversation, ids := m.find("a")
			words, want := " one two three", teamsync.Report{Conversations: 1, Messages: 3}
			if c.received > 0 {
				m.Received = map[store.MessageID]bool{ids[c.received-1]: true}
				words, want.Messages = " one three joined", 2
			}
			m.push(want, "push a 0-3:"+words)
			if c.private {
				m.Private = []string{"/src/a"}
			}
			if c.here {
				m.forget("a", 0)
			}
			m.keeper.has["a"].erased, m.keeper.has["a"].Erased = c.erased, fmt.Sprint(len(c.erased))
			if !c.whole {
				m.say("a", "four")
			}
			m.keeper.rights.Append = false
			var forgot int64
			for range 2 {
				r, err := m.Push(t.Context())
				if forgot += r.Forgot; strings.Contains(err.Error(), "not pushed") != (c.problem) {
					t.Error(err)
				}
			}
			order := store.Erasure{Cause: "forget", Unfinished: true}
			for _, i := range c.want {
				order.Messages = append(order.Messages, ids[i])
			}
			if c.whole { // with its title
				order.Messages, order.Conversations = nil, []store.ConversationID{conversation}
			}
			if want := []store.Erasure{order}[:min(1, len(c.want))]; forgot != int64(len(c.want)) || !cmp.Equal(want, orders, cmpopts.EquateEmpty()) {
				t.Errorf("%d were forgotten, by %+v", forgot, orders)
			}
			if n, err := teamsync.SentTo(t.Context(), m.db, m.Peer, conversation); err != nil || n != 3 {
				t.Errorf("%d were sent, %v", n, err)
			}
		})
	}
}

// A conversation that the server refuses or damages does not hold up the next one; a server that is
// out of order gets no more.
func TestPushGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		code    int
		answer  any
		goesOn  bool
		problem string
	}{
		"not allowed":  {403, teamsync.Problem{Error: "no"}, true, ""},
		"refused":      {400, teamsync.Problem{Error: "no", Hint: "do not"}, true, "conversation 1: the server http://lcm.example says: no"},
		"not a server": {404, "x", true, "404, and it does not look like"},
		"no reason":    {400, teamsync.Problem{}, true, "400, and it does not look like"},
		"damaged":      {200, teamsync.Receipt{Through: 1, Digest: "x"}, true, "arrived changed"},
		"out of order": {503, teamsync.Problem{Error: "later"}, false, "later"},
		"another end":  {200, teamsync.Receipt{Through: 2}, false, "not about what it was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.say("a", "one")
			m.say("b", "two")
			m.keeper.answer = func(request string) (int, any) {
				if strings.HasPrefix(request, "push a") {
					return c.code, c.answer
				}
				return 0, nil
			}
			r, err := m.Push(t.Context())
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v, want %q", err, c.problem)
			}
			if _, advice := hint.Split(errors.Join(err, io.EOF)); strings.Contains(advice, "the server's hint: do not") != (name == "refused") {
				t.Errorf("the hint is %q", advice)
			}
			if got := slices.Contains(m.keeper.asked, "push b 0-1: two"); got != c.goesOn || (len(r.Denied) == 1) != (c.code == 403) {
				t.Errorf("%q, %+v", m.keeper.asked, r)
			}
		})
	}
}

// A database that went its own way sends nothing under the id of the one that it is a copy of.
func TestCopyThatWentItsOwnWay(t *testing.T) {
	for name, c := range map[string]struct {
		peer, mark string
		through    int64
		problem    string
	}{
		"the same":                 {mark: "right", through: 2},
		"no mark":                  {through: 2},
		"another message":          {mark: "x", through: 2, problem: "went its own way"},
		"more messages":            {mark: "right", through: 3, problem: "went its own way"},
		"a peer":                   {peer: "aabbccddeeff0011", mark: "right", through: 2},
		"a peer without a mark":    {peer: "aabbccddeeff0011", through: 2, problem: "no mark of it"},
		"a peer with another mark": {peer: "aabbccddeeff0011", mark: "x", through: 2, problem: "restored from a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.Peer = c.peer
			m.say("a", "one two")
			m.push(teamsync.Report{Conversations: 1, Messages: 2}, "push a 0-2: one two")
			id, _ := m.Machine(t.Context())
			has := m.keeper.has["a"]
			if has.Through = c.through; c.mark != "right" {
				has.Mark = c.mark
			}
			m.say("b", "three") // before it in the list
			_, err := m.Push(t.Context())
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v, want %q", err, c.problem)
			}
			if now, _ := m.Machine(t.Context()); (now != id) != (c.mark == "x" || c.through > 2) {
				t.Errorf("the id is %s and was %s", now, id)
			}
		})
	}
}

// A session with nothing for the server is not looked through again before it has news.
func TestNothingToPush(t *testing.T) {
	m := newMachine(t)
	m.say("a", "one two")
	id, ids := m.find("a")
	m.Received = map[store.MessageID]bool{ids[0]: true, ids[1]: true}
	for range 2 {
		m.push(teamsync.Report{})
		if v, err := m.db.Get(t.Context(), store.SyncSpace, fmt.Sprintf("conversation/%d", id)); err != nil || v.Version != 1 {
			t.Errorf("version %d, %v", v.Version, err)
		}
	}
	m.say("a", "three")
	m.push(teamsync.Report{Conversations: 1, Messages: 1}, "push a 0-3: three")
}

// A request and an answer may be as large as their bounds, and no larger.
func TestSizesOfRequests(t *testing.T) {
	sent := 0
	answer := ""
	client := teamsync.Client{URL: "http://lcm.example", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
	})}}
	for size, ok := range map[int]bool{1 << 10: true, 1<<10 + 1: false} {
		answer = "{}" + strings.Repeat(" ", size-2)
		if err := client.Post(t.Context(), teamsync.TurnPath, nil, new(struct{})); (err == nil) != ok {
			t.Errorf("an answer of %d bytes: %v", size, err)
		}
	}
	answer = "{}"
	for size, ok := range map[int]bool{teamsync.MaxBody: true, teamsync.MaxBody + 1: false} {
		sent = 0
		err := client.Post(t.Context(), teamsync.StatusPath, strings.Repeat("x", size-3), new(struct{})) // two quotes and a line break
		if (err == nil) != ok || (sent == 1) != ok {
			t.Errorf("a request of %d bytes: sent %d times, %v", size, sent, err)
		}
	}
}

// Without an answer the error says what still works: a push later, a search here, or the other machine again.
func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		url, path, problem, hint string
		tries                    int
	}{
		{"http://lcm.example", teamsync.StatusPath, "cannot be reached", "pushes it later", 3},
		{"http://lcm.example", teamsync.GrepPath, "cannot be reached", "without --team", 3},
		{"http://lcm.example", teamsync.AskPath, "cannot be reached", "without --team", 3},
		{"http://lcm.example", teamsync.DescribePath, "cannot be reached", "without --team", 3},
		{"ssh://laptop", teamsync.StatusPath, "the connection to ssh://laptop has ended", "goes on from there", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			client := teamsync.Client{URL: c.url, HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				tries++
				return nil, io.ErrUnexpectedEOF
			})}}
			message, advice := hint.Split(client.Post(t.Context(), c.path, nil, new(teamsync.StatusAnswer)))
			if !strings.Contains(message, c.problem) || !strings.Contains(advice, c.hint) || tries != c.tries {
				t.Errorf("%s%s: %s (%s), %d tries", c.url, c.path, message, advice, tries)
			}
		})
	}
	for url, want := range map[string]string{"ssh://laptop": "ssh://laptop says: no", "http://x": "the server http://x says: no"} {
		if got := (&teamsync.RequestError{Server: url, Problem: teamsync.Problem{Error: "no"}}).Error(); got != want {
			t.Error(got)
		}
	}
}

// Records arrive as they are, whatever their bytes; more than a batch may have are refused.
func TestMessagesAsJSON(t *testing.T) {
	said := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var sent, got teamsync.Messages
	for i, record := range []string{"text <&>", "\xff\x00", ""} {
		m := store.Message{Seq: int64(i + 1), Native: "n", Flags: store.FlagHidden, Format: llms.FormatText, Size: int64(len(record)), SHA256: sha256.Sum256([]byte(record))}
		m.Body = llms.Message{Role: llms.RoleUser, Time: said, Raw: llms.Raw{Format: llms.FormatText, Bytes: []byte(record)}}
		sent = append(sent, m)
	}
	text, err := sent.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if diff := cmp.Diff(sent, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for text, ok := range map[string]bool{
		"null": true, "[]": true, "{}": false, `"x"`: false, "[1]": false,
		"[" + strings.Repeat("{},", teamsync.BatchMessages-1) + "{}]": true,
		"[" + strings.Repeat("{},", teamsync.BatchMessages) + "{}]":   false,
	} {
		if err := json.Unmarshal([]byte(text), new(teamsync.Messages)); (err == nil) != ok {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// A request that the server cannot answer now is sent again, as late as the server asks and within
// bounds; one that it refuses is not.
func TestRequestsAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		after string
		tries int
		took  time.Duration
	}{
		"refused":       {code: 400, tries: 1},
		"an old server": {code: 499, tries: 1},
		"broken":        {code: 500, tries: 3, took: 900 * time.Millisecond},
		"busy":          {code: 429, tries: 3, took: 900 * time.Millisecond},
		"busy for long": {code: 429, after: "2", tries: 3, took: 2*time.Second + 2300*time.Millisecond},
		"for too long":  {code: 503, after: "3600", tries: 3, took: 5*time.Second + 5300*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries, begun := 0, time.Now()
				client := teamsync.Client{URL: "http://lcm.example/", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					tries++
					return &http.Response{StatusCode: c.code, Header: http.Header{"Retry-After": {c.after}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
				})}}
				err := client.Post(t.Context(), teamsync.StatusPath, nil, new(teamsync.StatusAnswer))
				if took := time.Since(begun); err == nil || tries != c.tries || took != c.took {
					t.Errorf("%d tries in %v: %v", tries, took, err)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Settings with which nothing can be sent are named before anything is tried.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		url, token string
		ok         bool
	}{
		{"https://lcm.example", "x", true}, {"http://127.0.0.1:8766", "x", true}, {"https://lcm.example", "", false}, {"", "x", false},
		{"ftp://lcm.example", "x", false}, {"lcm.example", "x", false}, {"https://", "x", false}, {"http://[", "x", false},
	} {
		if err := (teamsync.Client{URL: c.url, Token: c.token}).Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
