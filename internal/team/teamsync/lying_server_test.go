package teamsync_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// liar answers requests with what it was told to say, whatever they ask: lines of a status
// code and a body. $DIGEST stands for the right digest of a batch, $THROUGH for its end.
type liar struct {
	t     testing.TB
	lines []string
	hosts map[string]bool // that requests were sent to
}

func (l *liar) RoundTrip(r *http.Request) (*http.Response, error) {
	l.hosts[r.URL.Host] = true
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	code, said := http.StatusNotFound, "{}"
	if len(l.lines) > 0 {
		_, err := fmt.Sscanf(l.lines[0], "%d", &code)
		if err == nil && len(l.lines[0]) > 4 {
			said = l.lines[0][4:]
		}
		l.lines = l.lines[1:]
	}
	if code < 200 || code >= 500 || code == http.StatusTooManyRequests { // the client would wait
		code = 200
	}
	if r.URL.Path == teamsync.PushPath {
		var b teamsync.Batch
		if json.Unmarshal(unpack(l.t, body), &b) != nil {
			l.t.Fatalf("the client sent %.200q", body)
		}
		said = strings.NewReplacer("$DIGEST", digest(b), "$THROUGH", fmt.Sprint(b.Through)).Replace(said)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Location", "http://elsewhere.example/")
	w.WriteHeader(code)
	w.WriteString(said)
	got := w.Result()
	got.Request = r
	return got, nil
}

func unpack(t testing.TB, body []byte) []byte {
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := z.DecodeAll(body, nil)
	if err != nil {
		t.Fatalf("the client sent %.200q", body)
	}
	return plain
}

// digest is that of an honest server.
func digest(b teamsync.Batch) string {
	d := teamsync.NewDigest()
	for _, m := range b.Messages {
		d.Add(m.Seq, m.Body.Time, m.Body.Role, m.SHA256)
	}
	return d.String()
}

// laptop is a record of three conversations: one whole, one with an erased message, and
// one that was pushed and then erased.
type laptop struct {
	db     *sqlite.DB
	pushed map[string][]byte // the rows of its progress
}

const messages = 5

func newLaptop(t testing.TB) laptop {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	e, err := lcm.New(db, lcm.WithoutBackground())
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"a", "a", "b", "b", "c"} {
		if err := e.Session(key).Append(t.Context(), llms.User(fmt.Sprint("said ", i))); err != nil {
			t.Fatal(err)
		}
	}
	l := laptop{db: db, pushed: map[string][]byte{}}
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		order := store.Erasure{Conversations: []store.ConversationID{c.ID}}
		switch c.Key {
		case "a":
			continue
		case "b":
			m, err := store.First(db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}))
			if err != nil {
				t.Fatal(err)
			}
			order = store.Erasure{Messages: []store.MessageID{m.ID}}
		case "c":
			l.pushed[fmt.Sprintf("conversation/%d", c.ID)] = []byte(`{"through":1,"erased":0}`)
		}
		if _, err := e.Erase(t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// pusher returns a pusher to a server that lies, from the same beginning each time.
func (l laptop) pusher(t testing.TB, says string) (*teamsync.Pusher, *liar) {
	rows, err := l.db.List(t.Context(), store.SyncSpace)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rows {
		if err := l.db.Delete(t.Context(), store.SyncSpace, v.Key, v.Version); err != nil {
			t.Fatal(err)
		}
	}
	for key, data := range l.pushed {
		if _, err := l.db.Put(t.Context(), store.SyncSpace, key, data, 0, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	lie := &liar{t: t, lines: strings.Split(says, "\n"), hosts: map[string]bool{}}
	return &teamsync.Pusher{
		Client: teamsync.Client{URL: "http://lcm.example", Token: "lcm_x", HTTP: &http.Client{Transport: lie}}, Store: l.db, MachineName: "one",
	}, lie
}

// check pushes and compares, and fails if the report cannot be true.
func (l laptop) check(t testing.TB, says string) error {
	p, lie := l.pusher(t, says)
	r, err := p.Push(t.Context())
	if r.Messages < 0 || r.Messages > messages || r.Forgotten < 0 || r.Forgotten > messages ||
		r.Erased < 0 || r.Erased > messages+teamsync.BatchMessages || r.EraseDenied < 0 || r.EraseDenied > messages+teamsync.BatchMessages || r.Conversations > 3 {
		t.Errorf("the report cannot be true: %+v", r)
	}
	v, verr := p.Verify(t.Context())
	if v.Messages < 0 || v.Messages > messages || v.ErasedThere > messages {
		t.Errorf("the comparison cannot be true: %+v", v)
	}
	_, gerr := p.Grep(t.Context(), recall.GrepRequest{Pattern: "x"})
	_, derr := p.Describe(t.Context(), recall.DescribeRequest{})
	_, aerr := p.Ask(t.Context(), recall.Question{})
	for _, err := range []error{err, verr, gerr, derr, aerr} {
		if err != nil && len(err.Error()) > 8000 {
			t.Errorf("an error of %d bytes: %.200s", len(err.Error()), err)
		}
	}
	if len(lie.hosts) > 1 {
		t.Errorf("requests were sent to %v", lie.hosts)
	}
	return err
}

const rights = `200 {"user":"alice","append":true,"erase":true}`

var lies = map[string]string{
	"a redirect":               rights + "\n307 {}",
	"no statuses":              rights + "\n200 {}",
	"no status after conflict": rights + "\n" + `200 {"statuses":[{},{},{}]}` + "\n409 {}\n200 {}",
	"many messages":            rights + "\n" + `200 {"statuses":[{"through":4611686018427387904},{"through":4611686018427387904},{"through":4611686018427387904}]}`,
	"negative":                 rights + "\n" + `200 {"statuses":[{"through":-1},{},{}]}`,
	"a forgotten stranger":     rights + "\n" + `200 {"statuses":[{},{},{}]}` + "\n" + `200 {"through":$THROUGH,"digest":"$DIGEST","forgotten":[7,7,7]}`,
	"twice forgotten":          rights + "\n" + `200 {"statuses":[{},{},{}]}` + "\n" + `200 {"through":$THROUGH,"digest":"$DIGEST","forgotten":[1,1],"other":[1]}`,
	"another digest":           rights + "\n" + `200 {"statuses":[{},{},{}]}` + "\n" + `200 {"through":$THROUGH,"digest":"x"}`,
	"another end":              rights + "\n" + `200 {"statuses":[{},{},{}]}` + "\n" + `200 {"through":-5,"digest":"$DIGEST"}`,
	"a long problem":           "403 " + `{"error":"` + strings.Repeat("no ", 100_000) + `"}`,
	"many statuses":            `200 {"statuses":[` + strings.Repeat("{},", 300_000) + `{}]}`,
	"many empty things":        `200 {"projects":[` + strings.Repeat(`"",`, 300_000) + `""]}`,
	"a conflict for ever":      rights + "\n" + `200 {"statuses":[{},{},{}]}` + strings.Repeat("\n409 {}\n"+`200 {"statuses":[{}]}`, 20),
}

const receipt = "\n" + `200 {"through":$THROUGH,"digest":"$DIGEST"}`

const honest = rights + "\n" + `200 {"statuses":[{},{},{"through":1}]}` + receipt + receipt + "\n" + `200 {"messages":0}` + "\n" + `200 {"messages":1}`

// A server that lies gets an error, and nothing but an error.
func TestLyingServer(t *testing.T) {
	l := newLaptop(t)
	for name, says := range lies {
		t.Run(name, func(t *testing.T) {
			if err := l.check(t, says); err == nil {
				t.Error("it was believed")
			}
		})
	}
	if err := l.check(t, honest); err != nil {
		t.Errorf("a server that does not lie: %v", err)
	}
}

// An answer is read up to a bound.
func TestLargeAnswer(t *testing.T) {
	read := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte(" "), 1<<20)
		for range 256 {
			n, err := w.Write(piece)
			if read += n; err != nil {
				return
			}
		}
	}))
	c := teamsync.Client{URL: s.URL, Token: "lcm_x"}
	_, err := c.Grep(t.Context(), recall.GrepRequest{Pattern: "x"})
	s.Close()
	if err == nil || !strings.Contains(err.Error(), "more than") || read > 64<<20 {
		t.Errorf("%d bytes were sent, %v", read, err)
	}
}

// The ids and counts of a search are shown as they are: an answer with others is refused.
func TestLyingSearch(t *testing.T) {
	for _, says := range []string{
		`null`, `{"nextCursor":"\u001b]0;x\u0007"}`, `{"total":-1}`, `{"matches":[{"id":"msg_1\n"}]}`, `{"matches":[{"id":"msg_1","context":{"after":[{"id":"\u009b2J"}]}}]}`,
		`{"matches":[` + strings.Repeat("{},", 2000) + `{}]}`,
	} {
		c := teamsync.Client{URL: "http://lcm.example", Token: "lcm_x", HTTP: &http.Client{Transport: &liar{t: t, lines: []string{"200 " + says}, hosts: map[string]bool{}}}}
		if a, err := c.Grep(t.Context(), recall.GrepRequest{Pattern: "x"}); err == nil {
			t.Errorf("%.80s was believed: %+v", says, a)
		}
	}
}

// FuzzLyingServer has a server answer anything to everything that the client asks.
func FuzzLyingServer(f *testing.F) {
	for _, says := range lies {
		if len(says) < 10_000 {
			f.Add(says)
		}
	}
	f.Add(honest +
		strings.Repeat("\n"+`200 {"messages":1,"digest":"x","erased":[1],"other":[2]}`, 3) + "\n" + `200 {"matches":[{"context":{"before":[{}]}}],"total":-1}` + "\n" +
		`200 {"text":"x","answer":{}}` + "\n" + `200 {"answer":"x","citedIds":["x"]}`)
	f.Add(`200 {"user":"alice","append":true}` + "\n" + `200 {"statuses":[{"through":1},{"through":2,"mark":"x"},{"through":1}]}` + "\n" + `200 {"messages":1,"erased":[1,1,99]}`)
	l := newLaptop(f)
	f.Fuzz(func(t *testing.T, says string) { _ = l.check(t, says) })
}

// trickle answers with one byte a second.
type trickle struct{}

func (trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	go func() {
		for r.Context().Err() == nil {
			time.Sleep(time.Second)
			if _, err := in.Write([]byte(" ")); err != nil {
				return
			}
		}
		in.CloseWithError(r.Context().Err())
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: out, Request: r}, nil
}

// An answer that arrives byte by byte is given up.
func TestSlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := teamsync.Client{URL: "http://server.example", HTTP: &http.Client{Transport: trickle{}}}.Grep(t.Context(), recall.GrepRequest{})
		if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "did not arrive") || took > 40*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// A server that has one message more than the record has is one that knows another record under
// this machine's id: the push is repeated under a new id.
func TestOneMessageMore(t *testing.T) {
	p, lie := newLaptop(t).pusher(t, rights+"\n"+`200 {"statuses":[{"through":3},{},{"through":1}]}`+"\n"+honest)
	if r, err := p.Push(t.Context()); err != nil || r.Messages != 3 {
		t.Errorf("%+v, %v; not asked: %q", r, err, lie.lines)
	}
}

// A push stands five conflicts in one conversation and fails at the sixth.
func TestConflicts(t *testing.T) {
	l := newLaptop(t)
	d := teamsync.NewDigest()
	for m, err := range l.db.Messages(t.Context(), store.MessageQuery{Conversation: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		d.Add(m.Seq, m.Body.Time, m.Body.Role, m.SHA256)
	}
	proof := fmt.Sprintf("\n"+`200 {"digest":%q,"messages":%d}`, d.String(), d.Count())
	for conflicts, want := range map[int]bool{5: true, 6: false} {
		says := rights + "\n" + `200 {"statuses":[{},{},{"through":1}]}` + strings.Repeat("\n409 {}\n"+`200 {"statuses":[{}]}`, conflicts) +
			receipt + proof + receipt + "\n" + `200 {"messages":0}` + "\n" + `200 {"messages":1}`
		p, lie := l.pusher(t, says)
		if r, err := p.Push(t.Context()); (err == nil) != want {
			t.Errorf("%d conflicts: %+v, %v; not asked: %q", conflicts, r, err, lie.lines)
		}
	}
}
