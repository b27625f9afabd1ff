package lines

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// read returns the lines of a file from an offset on, and where they end.
func read(t testing.TB, path string, offset int64, head string) (said []string, last Line) {
	t.Helper()
	for line, err := range Read(context.Background(), path, offset, head) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(line.Bytes))
		last = line
	}
	return said, last
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"lines":                 {"{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
		"nothing":               {"", nil},
		"empty lines":           {"\n\n{\"a\":1}\n \r\n{}\n", []string{`{"a":1}`, "{}"}},
		"CRLF is kept":          {"{\"a\":1}\r\n", []string{"{\"a\":1}\r"}},
		"half a line":           {"{\"a\":1}\n{\"b\":", []string{`{"a":1}`}},
		"whole without its end": {"{\"a\":1}\n{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}},
		"not JSON":              {"garbage\n{\"b\":2}\n", []string{"garbage", `{"b":2}`}},
		"a number goes on":      {"{\"a\":1}\n12", []string{`{"a":1}`}},
		"garbage at the end":    {"{\"a\":1}\ngarbage", []string{`{"a":1}`}},
	} {
		path := filepath.Join(t.TempDir(), "in.jsonl")
		write(t, path, c.content)
		if got, _ := read(t, path, 0, ""); !cmp.Equal(c.want, got) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A file of UTF-16 has the lines of the same file in UTF-8, also while it grows.
func TestWide(t *testing.T) {
	const content = "{\"a\":\"né 🎉\"}\n{\"b\":2}\r\n{\"c\":3}\n"
	for name, c := range map[string]struct {
		order binary.AppendByteOrder
		mark  string
	}{
		"little endian":                 {binary.LittleEndian, "\xff\xfe"},
		"big endian":                    {binary.BigEndian, "\xfe\xff"},
		"little endian, without a mark": {binary.LittleEndian, ""},
		"big endian, without a mark":    {binary.BigEndian, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wide := []byte(c.mark)
			for _, unit := range utf16.Encode([]rune(content)) {
				wide = c.order.AppendUint16(wide, unit)
			}
			path := filepath.Join(t.TempDir(), "in.jsonl")
			write(t, path, string(wide[:len(wide)-21]))
			got, last := read(t, path, 0, "")
			write(t, path, string(wide))
			rest, after := read(t, path, last.End, last.Head)
			if diff := cmp.Diff([]string{`{"a":"né 🎉"}`, "{\"b\":2}\r", `{"c":3}`}, append(got, rest...)); diff != "" || len(got) == 0 || after.Anew {
				t.Error(diff, got, after.Anew)
			}
		})
	}
}

// However a file grows, each line is read once.
func TestReadAsItGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	rapid.Check(t, func(rt *rapid.T) {
		var whole strings.Builder
		var want []string
		for range rapid.IntRange(1, 12).Draw(rt, "lines") {
			line := `{"text":"` + strings.Repeat("é", rapid.IntRange(0, 40).Draw(rt, "length")) + `"}`
			want = append(want, line)
			whole.WriteString(line + rapid.SampledFrom([]string{"\n", "\n", "\n\n"}).Draw(rt, "end"))
		}
		content := whole.String()
		var got []string
		var last Line
		for at := 0; at < len(content); {
			at = min(len(content), at+rapid.IntRange(1, len(content)).Draw(rt, "grows"))
			write(t, path, content[:at])
			said, line := read(t, path, last.End, last.Head)
			if said == nil {
				continue
			}
			if line.Anew {
				rt.Fatalf("taken for another file at %d", at)
			}
			got, last = append(got, said...), line
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestRewrittenFileIsReadAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	write(t, path, "{\"a\":1}\n{\"b\":2}\n")
	_, last := read(t, path, 0, "")
	for name, content := range map[string]string{
		"another beginning": "{\"z\":1}\n{\"b\":2}\n{\"c\":3}\n",
		"shorter":           "{\"a\":1}\n",
		"another middle":    "{\"a\":1}\n{\"b\":222}\n{\"c\":3}\n",
		"of one length":     "{\"a\":1}\n{\"b\":7}\n{\"c\":3}\n",
	} {
		write(t, path, content)
		var first *Line
		for line, err := range Read(t.Context(), path, last.End, last.Head) {
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = &line
			}
		}
		if first == nil || !first.Anew || first.Start != 0 {
			t.Errorf("%s: it goes on from %+v", name, first)
		}
	}
}

func TestLongLinesArePassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	write(t, path, "{\"a\":1}\n"+strings.Repeat("x", 1<<20)+"\n{\"b\":2}\n")
	r := &reader{ctx: t.Context(), path: path, max: 1000}
	if err := r.open(0, ""); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var sizes []int64
	for {
		line, err := r.next()
		if err != nil {
			break
		}
		if line.Bytes == nil {
			sizes = append(sizes, line.End-line.Start)
		} else {
			sizes = append(sizes, 0)
		}
	}
	if diff := cmp.Diff([]int64{0, 1<<20 + 1, 0}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestCompressed(t *testing.T) {
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "in.jsonl.zst")
	content := strings.Repeat("{\"text\":\"the same again\"}\n", 5000)
	write(t, plain, content)
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, packed, string(e.EncodeAll([]byte(content), nil)))
	want, end := read(t, plain, 0, "")
	got, _ := read(t, packed, 0, "")
	if !cmp.Equal(want, got) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	// A position of the plain file holds after the file is compressed.
	if rest, _ := read(t, packed, end.End, end.Head); rest != nil {
		t.Errorf("%d lines again", len(rest))
	}
	write(t, packed, string(e.EncodeAll([]byte(content), nil)[:50]))
	var failed error
	for _, err := range Read(t.Context(), packed, 0, "") {
		failed = err
	}
	if failed == nil || !strings.Contains(failed.Error(), packed) {
		t.Errorf("a torn archive: %v", failed)
	}
}

func TestLinksOutAreNotFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret.jsonl"), "{}\n")
	write(t, filepath.Join(root, "a.jsonl"), "{}\n")
	for from, to := range map[string]string{"in.jsonl": filepath.Join(root, "a.jsonl"), "out.jsonl": filepath.Join(outside, "secret.jsonl"), "gone": filepath.Join(root, "none")} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Skip(err)
		}
	}
	got := map[string]bool{}
	for _, f := range List(root, root) {
		got[filepath.Base(f.Path)] = f.Err == nil
	}
	if diff := cmp.Diff(map[string]bool{"a.jsonl": true, "in.jsonl": true, "out.jsonl": false, "gone": false}, got); diff != "" {
		t.Error(diff)
	}
	if found := List(root, filepath.Join(root, "nowhere")); found != nil {
		t.Errorf("a directory that is not there holds %v", found)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{\"b\":2}\n"), 3)
	f.Add([]byte("\n\r\n{\"a\":"), 1)
	f.Add([]byte{0, 0xff, '\n', '{', '}'}, 2)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		path := filepath.Join(dir, "in.jsonl")
		cut = max(0, min(cut, len(content)))
		write(t, path, string(content[:cut]))
		first, last := read(t, path, 0, "")
		write(t, path, string(content))
		rest, _ := read(t, path, last.End, last.Head)
		joined := strings.Join(append(first, rest...), "")
		if want := bytes.ReplaceAll(content, []byte("\n"), nil); len(joined) > len(want)+len(content[:cut]) {
			t.Errorf("%d bytes were read of %d", len(joined), len(want))
		}
	})
}
