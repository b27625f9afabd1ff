package proxy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/proxy"
)

// rawAPI is a server that keeps the bytes of the request and answers with the given
// bytes. It reads one request.
func rawAPI(t *testing.T, end, answer string) (base *url.URL, received func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		defer func() { got <- b.String() }()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		for r := bufio.NewReader(c); !strings.HasSuffix(b.String(), end); {
			one, err := r.ReadByte()
			if err != nil {
				return
			}
			b.WriteByte(one)
			if strings.HasSuffix(b.String(), "\r\n\r\n") && strings.Contains(b.String(), "Expect:") {
				_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
			}
		}
		_, _ = io.WriteString(c, answer)
	}()
	base, err = url.Parse("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return base, func() string { return <-got }
}

// exchange sends the bytes of a request to the proxy and returns those of the answer.
func exchange(t *testing.T, b *bed, route, target, rest string) string {
	t.Helper()
	own, err := url.Parse(b.server.URL(route))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", own.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "POST %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s", own.Path, target, own.Host, rest); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestBytesOnTheWire: a query that Go does not parse, headers of other proxies,
// encodings, trailers and an Expect header pass, and nothing is added.
func TestBytesOnTheWire(t *testing.T) {
	const trailers = "5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n"
	const answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Cost\r\nX-Odd: \tä\r\nContent-Encoding: br\r\n\r\n3\r\n\x00\x01\x02\r\n0\r\nX-Cost: 7\r\n\r\n"
	base, received := rawAPI(t, "\r\nX-Sum: abc\r\n\r\n", answer)
	b := newBed(t, func(c *proxy.Config) { c.Routes["raw"] = base })
	const target = "/v1/files?a;b=1&%zz&c=%2F&&=;"
	text := exchange(t, b, "raw", target, "Accept-Encoding: br;q=0.5, gzip\r\nExpect: 100-continue\r\nTe: trailers\r\n"+
		"Forwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"+trailers)
	got := received()
	for _, want := range []string{
		"POST " + target + " HTTP/1.1\r\n", "\r\nAccept-Encoding: br;q=0.5, gzip\r\n", "\r\nExpect: 100-continue\r\n", "\r\nTe: trailers\r\n",
		"\r\nForwarded: for=1.2.3.4\r\n", "\r\nX-Forwarded-For: 1.2.3.4\r\n", "\r\nTrailer: X-Sum\r\n", "\r\n\r\n" + trailers,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q did not arrive:\n%s", want, got)
		}
	}
	if strings.Contains(got, "User-Agent") || strings.Contains(got, "Origin") {
		t.Errorf("something was added:\n%s", got)
	}
	for _, want := range []string{"\r\nContent-Encoding: br\r\n", "\r\nTrailer: X-Cost\r\n", "\r\n3\r\n\x00\x01\x02\r\n0\r\nX-Cost: 7\r\n\r\n", "\r\nX-Odd: ä\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q did not come back:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Content-Type") || strings.Contains(text, "Date:") {
		t.Errorf("something was added:\n%s", text)
	}
}

// TestQueryOfModelRequest: the query of a request to a model passes as well.
func TestQueryOfModelRequest(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	base, received := rawAPI(t, body, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	b := newBed(t, func(c *proxy.Config) { c.Routes["raw"] = base })
	answer := exchange(t, b, "raw", "/v1/messages?beta=true;x&%", "X-Claude-Code-Session-Id: "+sessionID+"\r\nContent-Length: "+fmt.Sprint(len(body))+"\r\n\r\n"+body)
	if got := received(); !strings.HasPrefix(got, "POST /v1/messages?beta=true;x&% HTTP/1.1\r\n") || !strings.HasSuffix(got, "\r\n\r\n"+body) {
		t.Errorf("%s", got)
	}
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") {
		t.Errorf("%s", answer)
	}
}

// TestLoginRoute: a request with a subscription login goes where the program itself sends
// such requests, whichever way it has logged in.
func TestLoginRoute(t *testing.T) {
	for headers, want := range map[string]string{
		"Authorization: Bearer sk-x\r\n":                          "key",
		"Authorization: Bearer ey.x\r\nChatGPT-Account-ID: a\r\n": "login",
	} {
		routes := map[string]*url.URL{}
		routes["openai"], _ = rawAPI(t, "\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Api: key\r\nContent-Length: 0\r\n\r\n")
		routes["openai"+launch.Login], _ = rawAPI(t, "\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Api: login\r\nContent-Length: 0\r\n\r\n")
		b := newBed(t, func(c *proxy.Config) { c.Routes = routes })
		if got := exchange(t, b, "openai", "/responses", headers+"Content-Length: 0\r\n\r\n"); !strings.Contains(got, "X-Api: "+want) {
			t.Errorf("%q went elsewhere than to %s: %s", headers, want, got)
		}
	}
}

// A folded request that came packed goes on plain, and says so.
func TestPackedRequest(t *testing.T) {
	b := newBed(t, nil)
	b.play(60)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.send(z.EncodeAll(b.body(), nil), "Content-Encoding", "zstd")
	b.mu.Lock()
	defer b.mu.Unlock()
	body, header := b.received[len(b.received)-1], b.headers[len(b.headers)-1]
	if !json.Valid(body) || !bytes.Contains(body, []byte("<lcm-context>")) || header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes, encoding %q", len(body), header.Get("Content-Encoding"))
	}
}
