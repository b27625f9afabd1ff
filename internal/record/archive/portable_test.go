package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

var created = time.Date(2026, 2, 19, 10, 0, 0, 0, time.UTC)

// archive writes rows and payloads.
func archive(t testing.TB, rows []Row, payloads ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Manifest{Schema: 3, Created: created})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range payloads {
		if err := w.Payload(sha256.Sum256(p), int64(len(p)), bytes.NewReader(p), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read reads an archive to its end.
func read(data []byte, l Limits) (rows []Row, payloads [][]byte, err error) {
	r, err := NewReader(bytes.NewReader(data), l)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, payloads, nil
		}
		if err != nil {
			return rows, payloads, err
		}
		if item.Content == nil {
			rows = append(rows, item.Row)
			continue
		}
		b, err := io.ReadAll(item.Content)
		if err != nil {
			return rows, payloads, err
		}
		payloads = append(payloads, b)
	}
}

// Any bytes that are written are read back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			rows = append(rows, Row{
				Table: rapid.SampledFrom([]string{"messages", "view"}).Draw(t, "table"), Columns: []string{"a", "b", "c"},
				Values: []any{
					rapid.Int64().Draw(t, "number"), string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
				},
			})
		}
		var b bytes.Buffer
		w, err := NewWriter(&b, Manifest{Created: created})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := w.Row(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := read(b.Bytes(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// The same rows give the same bytes.
func TestDeterministic(t *testing.T) {
	rows := []Row{{Table: "messages", Columns: []string{"id", "record"}, Values: []any{int64(1), []byte("x")}}}
	if a, b := archive(t, rows, []byte("p")), archive(t, rows, []byte("p")); !bytes.Equal(a, b) {
		t.Error("two archives of the same differ")
	}
}

// forge makes an archive of entries by hand.
func forge(t *testing.T, entries ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	f, err := newFrameWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	for _, e := range entries {
		err := errors.Join(w.Flush(), f.entry(), w.WriteHeader(&tar.Header{Name: e[0], Size: int64(len(e[1])), Mode: 0o600}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.flush()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ending is an end that matches the entries before it.
func ending(rows string, entries ...[2]string) [2]string {
	h := sha256.New()
	for _, e := range entries {
		io.WriteString(h, e[1])
	}
	return [2]string{endName, fmt.Sprintf(`{"rows":%s,"sha256":%q}`, rows, hex.EncodeToString(h.Sum(nil)))}
}

func TestHostileArchives(t *testing.T) {
	begin := [2]string{manifestName, `{"format":"lcm-archive","version":1,"schema":3}`}
	for _, c := range []struct {
		name    string
		entries [][2]string
		want    string
	}{
		{"a path out of the directory", [][2]string{begin, {"../../etc/passwd", "x"}}, "does not belong"},
		{"an absolute path", [][2]string{begin, {"/etc/passwd", "x"}}, "does not belong"},
		{"a payload with a path in its name", [][2]string{begin, {"payloads/../../x", "x"}}, "does not belong"},
		{"no manifest", [][2]string{{"rows/000001.jsonl", "{}"}}, "manifest"},
		{"a manifest of something else", [][2]string{{manifestName, `{"format":"zip"}`}}, "not that of an archive"},
		{"a manifest that is no JSON", [][2]string{{manifestName, `{`}}, "cannot be read"},
		{"a newer version", [][2]string{{manifestName, `{"format":"lcm-archive","version":99}`}}, "upgrade lcm"},
		{"a row that is no JSON", [][2]string{begin, {"rows/000001.jsonl", "{]\n"}}, "cannot be read"},
		{"a row of two tables", [][2]string{begin, {"rows/000001.jsonl", `{"a":{},"b":{}}` + "\n"}}, "one table"},
		{"a number that is none", [][2]string{begin, {"rows/000001.jsonl", `{"a":{"b":1e99}}` + "\n"}}, "a.b"},
		{"a value of no kind", [][2]string{begin, {"rows/000001.jsonl", `{"a":{"b":{"hex":"00"}}}` + "\n"}}, "a.b"},
		{"no end", [][2]string{begin}, "cut off"},
		{"an end that counts wrongly", [][2]string{begin, ending(`{"messages":1}`, begin)}, "does not match"},
		{"something after the end", [][2]string{begin, ending(`{}`, begin), {"rows/000002.jsonl", ""}}, "follows its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := read(forge(t, c.entries...), Limits{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	if _, _, err := read(forge(t, begin, ending(`{}`, begin)), Limits{}); err != nil {
		t.Errorf("an archive made by hand: %v", err)
	}
}

// A small file that unpacks to very much is refused on the way, unless the
// caller believes it.
func TestBomb(t *testing.T) {
	bomb := archive(t, nil, make([]byte, 80<<20))
	if _, _, err := read(bomb, Limits{Ratio: 1000}); !errors.Is(err, errBomb) {
		t.Errorf("error %v, want %v (%d bytes)", err, errBomb, len(bomb))
	}
	frames, err := newFrameReader(bytes.NewReader(bomb), Limits{Ratio: 1000})
	for err == nil {
		if _, err = frames.peek(); err == nil {
			frames.ahead = nil
		}
	}
	if _, err := frames.peek(); !errors.Is(err, errBomb) { // a loader that goes on must not take it for damage
		t.Errorf("after the error: %v", err)
	}
	if _, _, err := read(bomb, Limits{Ratio: 1 << 40}); err != nil {
		t.Errorf("believed: %v", err)
	}
	if _, _, err := read(archive(t, []Row{{Table: "a", Columns: []string{"b"}, Values: []any{strings.Repeat("x", 5000)}}}), Limits{Row: 1000}); err == nil {
		t.Error("a line of 5,000 bytes passes a limit of 1,000")
	}
}

func TestPeek(t *testing.T) {
	if !Peek(bytes.NewReader(archive(t, nil))) {
		t.Error("an archive is not known as one")
	}
	var other bytes.Buffer
	z, _ := zstd.NewWriter(&other)
	io.WriteString(z, `{"type":"session_meta"}`)
	z.Close()
	for _, b := range [][]byte{other.Bytes(), nil, []byte("text")} {
		if Peek(bytes.NewReader(b)) {
			t.Errorf("%q passes for an archive", b)
		}
	}
}

// Whatever a file holds, reading it ends with an archive or an error.
func FuzzReader(f *testing.F) {
	f.Add(archive(f, []Row{{Table: "messages", Columns: []string{"id"}, Values: []any{int64(1)}}}, []byte("payload")))
	f.Add([]byte("not an archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = read(data, Limits{Row: 1 << 16, Ratio: 100})
		_, _, _ = salvaged(data) // which goes on behind errors, and must end too
	})
}

// Whatever a line holds, it is a row or an error, and a row can be written.
func FuzzRow(f *testing.F) {
	f.Add([]byte(`{"messages":{"id":1,"record":{"utf8":"x"},"native":"n","sha256":{"base64":"AAEC"}}}`))
	f.Add([]byte(`{"a":{"b":{"text64":"/w=="}}}`))
	f.Add([]byte(`{"a":{"b":1},"damaged":"why"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := decodeRow(line)
		if err != nil {
			return
		}
		again, err := row.encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeRow(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if diff := cmp.Diff(row, back); diff != "" {
			t.Error(diff)
		}
	})
}
