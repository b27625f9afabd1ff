package httpbody_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"

	"github.com/lossless-context/lcm/internal/kit/httpbody"
)

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(data, nil)
}

func request(body []byte, packed bool) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	if packed {
		r.Header.Set("Content-Encoding", httpbody.Zstd)
	}
	return r
}

func TestSizes(t *testing.T) {
	b := &httpbody.Reader{Max: 1 << 20, Unpack: true, Pools: []*semaphore.Weighted{semaphore.NewWeighted(3 << 20)}}
	// A skippable frame of zstd unpacks to nothing.
	skipped := append([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0x20, 0}, make([]byte, 2<<20)...)
	for _, c := range []struct {
		name string
		r    *http.Request
		want error
	}{
		{"small", request([]byte("{}"), false), nil},
		{"at the bound", request(make([]byte, 1<<20), false), nil},
		{"above it", request(make([]byte, 1<<20+1), false), httpbody.ErrTooLarge},
		{"packed", request(pack(t, make([]byte, 1<<20)), true), nil},
		{"packed, above it", request(pack(t, make([]byte, 64<<20)), true), httpbody.ErrTooLarge},
		{"packed, without content", request(skipped, true), httpbody.ErrTooLarge},
		{"packed, more than its header says", request(append(pack(t, []byte("{}")), pack(t, make([]byte, 1<<20))...), true), httpbody.ErrTooLarge},
	} {
		c.r.ContentLength = -1
		content, release, err := b.Read(httptest.NewRecorder(), c.r)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || len(content) == 0) {
			t.Errorf("%s: %d bytes, %v", c.name, len(content), err)
		}
		release()
	}
}

// Large bodies wait for those before them, up to a time. Small ones do not.
func TestBodiesWaitForMemory(t *testing.T) {
	b := &httpbody.Reader{Max: 1 << 20, Pools: []*semaphore.Weighted{semaphore.NewWeighted(1 << 20)}}
	read := func(size int) (func(), error) {
		_, release, err := b.Read(httptest.NewRecorder(), request(make([]byte, size), false))
		return release, err
	}
	synctest.Test(t, func(t *testing.T) {
		release, err := read(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(httpbody.Free + 1); !errors.Is(err, httpbody.ErrBusy) {
			t.Errorf("a second body: %v", err)
		}
		if _, err := read(httpbody.Free); err != nil {
			t.Errorf("a small body meanwhile: %v", err)
		}
		go func() {
			time.Sleep(httpbody.Timeout / 2)
			release()
		}()
		if _, err := read(1 << 20); err != nil {
			t.Errorf("a body that waits until another is done: %v", err)
		}
	})
}

// A body that does not arrive ends with its time.
func TestSlow(t *testing.T) {
	b := &httpbody.Reader{Max: 1 << 20, Timeout: 50 * time.Millisecond}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, release, err := b.Read(w, r)
		defer release()
		w.WriteHeader(httpbody.Status(err))
	}))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nthe beginning")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("a slow body is answered with %s", answer.Status)
	}
}
