package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// An input without ids is stored once, also where another import of it runs at the same
// time, and goes on from what is stored.
func TestImportWithoutIDsCannotDouble(t *testing.T) {
	const messages = 2010
	var file strings.Builder
	for i := range messages {
		fmt.Fprintf(&file, "{\"role\":\"user\",\"content\":\"m%d\"}\n", i)
	}
	rec := openTestRecord(t, map[string]string{})
	session := rec.engine.Session("s")
	if err := session.Append(t.Context(), llms.User("m0"), llms.User("m1")); err != nil {
		t.Fatal(err)
	}
	p := newProgram(strings.NewReader(file.String()), io.Discard, io.Discard)
	in, err := p.readMessages(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	stored := 0
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			r, err := rec.storeMessages(t.Context(), session, in)
			if err != nil || r.New+r.Known != messages {
				t.Errorf("%+v, %v", r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			stored += r.New
		})
	}
	running.Wait()
	c, err := session.Conversation(t.Context())
	if err != nil || c.Messages != messages || stored != messages-2 {
		t.Fatalf("stored %d and reported %d, want %d: %v", c.Messages, stored, messages, err)
	}
}

// endless repeats a text without end, and counts the bytes that were read.
type endless struct {
	text []byte
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[e.read%len(e.text)]
		e.read++
	}
	return len(p), nil
}

// An input without an end is given up after a bounded number of bytes.
func TestEndlessInput(t *testing.T) {
	maxMessageFile = 8 << 20
	t.Cleanup(func() { maxMessageFile = 256 << 20 })
	for _, text := range []string{"\x00", "hello, world", "{", "{\"role\":\"user\",\"content\":\"" + strings.Repeat("x", 1<<20) + "\"}\n", " \n"} {
		in := &endless{text: []byte(text)}
		_, err := newProgram(in, io.Discard, io.Discard).readMessages(t.Context(), "-")
		if err == nil || int64(in.read) > maxMessageFile+1<<20 {
			t.Errorf("%.20q: %v after %d bytes", text, err, in.read)
		}
	}
}

// A file that is not there is not found, and nothing is made for it.
func TestImportOfMissingFile(t *testing.T) {
	dir, command := commanded(t)
	if code, _, errs := command("import", filepath.Join(dir, "none.jsonl")); code != exitNotFound {
		t.Errorf("exit %d, %s", code, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.db")); len(left) > 0 {
		t.Errorf("it leaves %q", left)
	}
}
