package mcpserver_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/mcpserver"
)

// A request of any length costs no more than the largest that is allowed.
func TestARequestIsBounded(t *testing.T) {
	r := newRecord(t)
	server := httptest.NewServer(r.serve(r.config()).Handler(mcpserver.HTTPOptions{Token: token}))
	defer server.Close()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("a", 17<<20) + `"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := server.Client().Do(request)
	if err != nil {
		return // the connection was closed in the middle of it
	}
	defer response.Body.Close()
	if response.StatusCode < 400 {
		t.Errorf("a request of %d bytes was taken: %s", len(body), response.Status)
	}
}

// Many slow clients together use no more memory than the bound: most are refused, the
// others are cut off when their time is up, and ordinary calls are answered meanwhile.
func TestSlowRequestsAreBounded_Long(t *testing.T) {
	const clients, size = 100, 8 << 20
	r := newRecord(t)
	url := r.listen(mcpserver.HTTPOptions{Token: token, BodyTimeout: 3 * time.Second})
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), mcpserver.Path)
	before := heap()
	var all sync.WaitGroup
	answers := make(chan int, clients)
	chunk := bytes.Repeat([]byte(" "), 64<<10)
	sent := make(chan struct{}, clients)
	for range clients {
		all.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", mcpserver.Path, token, size)
			for n := 0; n+len(chunk) < size; n += len(chunk) {
				if _, err := c.Write(chunk); err != nil {
					break // it was turned away
				}
			}
			sent <- struct{}{}
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				answers <- resp.StatusCode
				resp.Body.Close()
			}
		})
	}
	for range clients {
		<-sent
	}
	if grown := heap() - before; grown > 160<<20 {
		t.Errorf("%d clients that send %d MB slowly take %d MB", clients, size>>20, grown>>20)
	}
	if got := initialize(t, url); got != http.StatusOK {
		t.Errorf("an ordinary call is answered with %d meanwhile", got)
	}
	all.Wait()
	close(answers)
	got := map[int]int{}
	for status := range answers {
		got[status]++
	}
	if got[http.StatusRequestTimeout] == 0 || got[http.StatusOK] > 0 {
		t.Errorf("the answers by status: %v", got)
	}
}

func initialize(t *testing.T, url string) int {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token} {
		request.Header.Set(name, value)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
