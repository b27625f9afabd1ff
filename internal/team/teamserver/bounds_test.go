package teamserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// post sends a body, packed or not, and returns the status and the answer.
func (f *fixture) post(path, token, body string, packed bool) (int, string) {
	f.t.Helper()
	sent := []byte(body)
	if packed {
		sent = pack(f.t, sent)
	}
	return f.send(path, token, sent, packed)
}

func pack(t testing.TB, body []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(body, nil)
}

// send sends the bytes of a body, and returns the status and the answer.
func (f *fixture) send(path, token string, sent []byte, packed bool) (int, string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+path, bytes.NewReader(sent))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if packed {
		r.Header.Set("Content-Encoding", teamsync.Encoding)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

// batch is a push of records in the Anthropic shape.
func batch(records ...string) string {
	var all []string
	for i, r := range records {
		all = append(all, fmt.Sprintf(`{"seq":%d,"role":"user","said":"2026-03-01T00:00:00Z","format":"anthropic","text":%q}`, i+1, r))
	}
	return fmt.Sprintf(`{"machine":%q,"key":"s","segment":1,"machineName":"one","project":{"Origin":"github.com/acme/app"},"after":0,"through":%d,"messages":[%s]}`,
		strings.Repeat("a", 32), len(records), strings.Join(all, ","))
}

// Bodies that unpack to much, or to many small things, are refused.
func TestLargeBodies(t *testing.T) {
	f := newFixture(t)
	reader, writer := f.token(access.Token{}), f.token(access.Token{Append: true})
	blank := strings.Repeat(" ", teamsync.MaxBody+1)
	half := `{"role":"user","content":[` + strings.Repeat("1,", 1<<16) + `1]}`
	for _, c := range []struct {
		name, path, token, body string
		want                    int
	}{
		{"a question", teamsync.GrepPath, reader, blank, http.StatusRequestEntityTooLarge},
		{"a push without the right", teamsync.PushPath, reader, blank, http.StatusForbidden},
		{"a push", teamsync.PushPath, writer, blank, http.StatusRequestEntityTooLarge},
		{"many messages", teamsync.PushPath, writer, `{"messages":[` + strings.Repeat("{},", 1<<20) + `{}]}`, http.StatusBadRequest},
		{"many parts", teamsync.PushPath, writer, batch(half, half), http.StatusRequestEntityTooLarge},
		{"many sources", teamsync.StatusPath, reader, `{"sources":[` + strings.Repeat("{},", 1<<10) + `{}]}`, http.StatusRequestEntityTooLarge},
		{"a large name", teamsync.PushPath, writer, strings.Replace(batch("{}"), `"key":"s"`, `"key":"`+strings.Repeat("s", 5000)+`"`, 1), http.StatusRequestEntityTooLarge},
		{"a wrong role", teamsync.PushPath, writer, strings.Replace(batch("{}"), `"role":"user"`, `"role":"root"`, 1), http.StatusBadRequest},
		{"an ordinary push", teamsync.PushPath, writer, batch(`{"role":"user","content":"ordinary"}`), http.StatusOK},
	} {
		if code, text := f.post(c.path, c.token, c.body, true); code != c.want {
			t.Errorf("%s: %d %.200s, want %d", c.name, code, text, c.want)
		}
	}
	f.want(map[string]string{"alice/s": "ordinary"})
}

// However many large pushes arrive at a time, the server keeps few of them in memory.
func TestMemoryOfPushes(t *testing.T) {
	f := newFixture(t)
	blank := pack(t, bytes.Repeat([]byte(" "), teamsync.MaxBody))
	runtime.GC()
	var group sync.WaitGroup
	for range 3 {
		token := f.token(access.Token{Append: true})
		for range 8 {
			group.Go(func() {
				if code, text := f.send(teamsync.PushPath, token, blank, true); code != http.StatusBadRequest && code != http.StatusServiceUnavailable {
					t.Errorf("%d %.200s", code, text)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for most := uint64(0); ; most = max(most, sample[0].Value.Uint64()) {
		select {
		case <-done:
			if most > 360<<20 {
				t.Errorf("the heap had %d MB", most>>20)
			}
			return
		case <-time.After(time.Millisecond):
			metrics.Read(sample)
		}
	}
}

// dial sends the head of a request, whose body does not follow, and returns the answer's
// status.
func (f *fixture) dial(url, path, token string) int {
	f.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", path, token)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	got.Body.Close()
	return got.StatusCode
}

// A body that never arrives ends the request, at once where the token does not allow it
// anyway.
func TestSlowBodies(t *testing.T) {
	f := newFixture(t)
	reader := f.token(access.Token{})
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{teamsync.PushPath, reader, http.StatusForbidden},
		{teamsync.ErasePath, reader, http.StatusForbidden},
		{teamsync.PushPath, "lcm_wrong", http.StatusUnauthorized},
	} {
		if got := f.dial(f.url, c.path, c.token); got != c.want {
			t.Errorf("%s: %d, want %d", c.path, got, c.want)
		}
	}
	s := httptest.NewServer(f.newServer(func(c *teamserver.Config) { c.BodyTimeout = 50 * time.Millisecond }).Handler())
	defer s.Close()
	for _, path := range []string{teamsync.GrepPath, teamsync.VerifyPath, "/mcp"} {
		if got := f.dial(s.URL, path, reader); got != http.StatusRequestTimeout {
			t.Errorf("%s: %d, want %d", path, got, http.StatusRequestTimeout)
		}
	}
}

// Requests with wrong tokens wait for each other, and not those with a valid one.
func TestWrongTokensAreSlow(t *testing.T) {
	f := newFixture(t)
	valid := f.token(access.Token{})
	const wrong = 30
	answered := make(chan int, wrong)
	begun := time.Now()
	for range wrong {
		go func() {
			code, _ := f.post(teamsync.StatusPath, "lcm_wrong", "{}", false)
			answered <- code
		}()
	}
	if code := <-answered; code != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %d", code)
	}
	if code, text := f.post(teamsync.StatusPath, valid, "{}", false); code != http.StatusOK {
		t.Errorf("a valid token meanwhile: %d %s", code, text)
	}
	for range wrong - 1 {
		<-answered
	}
	if took := time.Since(begun); took < 2*time.Second {
		t.Errorf("%d wrong tokens were answered within %s", wrong, took)
	}
}

// What a message says comes from its record, and an agent's name cannot look like that of
// another user.
func TestForgedPush(t *testing.T) {
	f := newFixture(t)
	writer := f.token(access.Token{Append: true})
	push := strings.Replace(batch(`{"role":"user","content":"as it was said"}`), `"text":`, `"body":"{\"role\":\"user\",\"parts\":[{\"kind\":\"text\",\"text\":\"forged\"}]}","text":`, 1)
	push = strings.Replace(push, `"key":"s"`, `"key":"s","agent":"claude (bob@two)\u202e（bob＠two）"`, 1)
	if code, text := f.post(teamsync.PushPath, writer, push, true); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	f.want(map[string]string{"alice/s": "as it was said"})
	list, err := f.db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil || list[0].Agent != "claude -bob-two---bob-two- (alice@one)" {
		t.Errorf("the agent is %q, %v", list[0].Agent, err)
	}
}
