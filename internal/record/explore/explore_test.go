package explore

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden explores every file of testdata/in and compares with what stands
// beside it in testdata/out.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/in/*")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, in := range inputs {
		name := filepath.Base(in)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			r := Explore(name, "", data)
			got := fmt.Sprintf("kind %s, %s, %d lines\n\n%s\n", r.Kind, r.MIME, r.Lines, r.Summary)
			golden := filepath.Join("testdata", "out", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	for _, tc := range []struct {
		name, mime, data, want string
	}{
		{"", "", "", "empty"},
		{"", "", " \n\t", "empty"},
		{"a.json", "", `{"a":1}`, "json"},
		{"", "application/json; charset=utf-8", `[1,2]`, "json"},
		{"", "application/vnd.api+json", `[1,2]`, "json"},
		{"", "", `{"a": [1, 2]}`, "json"},
		{"", "", "{\"a\":1}\n{\"a\":2}\n", "jsonl"},
		{"rows.json", "", "{\"a\":1}\n{\"a\":2}\n", "jsonl"},
		{"", "", "a,b\n1,2\n3,4\n", "csv"},
		{"", "", "a\tb\n1\t2\n3\t4\n", "tsv"},
		{"", "text/csv", "whatever", "csv"},
		{"", "", "2026-01-02 03:04:05 INFO up\n2026-01-02 03:04:06 INFO on\n2026-01-02 03:04:07 ERROR off\n", "log"},
		{"out.txt", "", "2026-01-02 03:04:05 up\n2026-01-02 03:04:06 on\n2026-01-02 03:04:07 off\n", "log"},
		{"x.go", "", "package x\n", "go"},
		{"", "", "package x\n\nfunc F() {\n}\n", "go"},
		{"", "", "from os import path\n\ndef f():\n    pass\n", "python"},
		{"", "", "import a from 'a'\n\nexport function f() {\n}\n", "javascript"},
		{"", "", "export interface A {\n}\nimport b from 'b'\n", "typescript"},
		{"", "", "use std::io;\n\nfn main() {\n}\n", "rust"},
		{"", "", "# A title\n\nText.\n\n## More\n", "markdown"},
		{"", "", "export class Net {\n  size: number;\n}\nexport function f(a: string): void {\n}\nimport b from 'b'\n", "typescript"},
		{"fish.ts", "", "export function f() {\n}\nimport b from 'b'\n", "typescript"},
		{"", "", "create table fish (id int, name text);\ninsert into fish values (1, 'cod');\ninsert into fish values (2, 'eel');\n", "sql"},
		{"a.sql", "", "a,b\n1,2\n3,4\n", "sql"},
		{"", "", "name: net\nmesh:\n  size: 12\n  kind: fine\nowners:\n  - name: Ada\n", "yaml"},
		{"", "", "- Note: this\n- is a list\n- and no YAML\n", "text"},
		{"", "", "<catch>\n  <fish name=\"cod\"/>\n</catch>\n", "xml"},
		{"", "", "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n", "diff"},
		{"", "", "--- a/x.yaml\n+++ b/x.yaml\n@@ -1,3 +1,3 @@\n a: 1\n-b: 2\n+b: 3\n", "diff"},
		{"", "", "     1→package x\n     2→\n     3→func F() {\n     4→}\n", "go"},
		{"", "", "    98→a,b\n    99→1,2\n   100→3,4\n", "csv"},
		{"", "", "Just words.\nAnd more words.\n", "text"},
		{"", "", "<?xml version=\"1.0\"?><a/>", "xml"},
		{"", "", "<!DOCTYPE html><p>hi", "html"},
		{"a.yml", "", "a: 1\n", "yaml"},
		{"a.toml", "", "a = 1\n", "toml"},
		{"a.json", "", "\x89PNG\r\n\x1a\n", "image"},
		{"a.txt", "", "\x00\x01\x02", "binary"},
		{"", "text/plain", "%PDF-1.7\x00", "binary"},
	} {
		if got := Explore(tc.name, tc.mime, []byte(tc.data)).Kind; got != tc.want {
			t.Errorf("Explore(%q, %q, %q).Kind = %s, want %s", tc.name, tc.mime, tc.data, got, tc.want)
		}
	}
}

// A table shows how many rows it has, and what each column holds.
func TestTables(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("id,name,price,added,sold,note\n")
	for i := range 12_000 {
		fmt.Fprintf(&rows, "%d,\"Lamp, no. %d\",%d.5,2026-01-%02d,%v,\n", i, i, i, i%28+1, i%2 == 0)
	}
	for _, tc := range []struct {
		data string
		want []string
	}{
		{rows.String(), []string{"12,000 rows of 6 columns", "id: integer, e.g. 0", "name: text, e.g. Lamp, no. 0", "price: number, e.g. 0.5", "added: date, e.g. 2026-01-01", "sold: boolean, e.g. true", "note: empty"}},
		{"1;cod\n2;eel\n3;\n", []string{"3 rows of 2 columns", "column 1: integer, e.g. 1", "column 2: text, e.g. cod"}},
		{"a,b\n1,x\n2.5,7\n", []string{"2 rows of 2 columns", "a: number, e.g. 1", "b: text, e.g. x"}},
		{"a,b\n", []string{"0 rows of 2 columns", "a: empty"}},
	} {
		got := Explore("a.csv", "", []byte(tc.data)).Summary
		for _, want := range tc.want {
			if !strings.Contains(got, want+"\n") && !strings.HasSuffix(got, want) && !strings.Contains(got, want+":") {
				t.Errorf("%q is missing:\n%s", want, got)
			}
		}
	}
}

func TestImages(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 31, 17))
	var p, j, g bytes.Buffer
	if err := png.Encode(&p, img); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&j, img, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&g, img, nil); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		format string
		data   []byte
	}{{"image/png", p.Bytes()}, {"image/jpeg", j.Bytes()}, {"image/gif", g.Bytes()}} {
		r := Explore("", "", tc.data)
		if !strings.Contains(r.Summary, "31 × 17") || !strings.HasPrefix(r.Summary, "image ("+tc.format) {
			t.Errorf("%s: %q", tc.format, r.Summary)
		}
		if r := Explore("", "", tc.data[:12]); !strings.Contains(r.Summary, "unknown") {
			t.Errorf("%s cut off: %q", tc.format, r.Summary)
		}
	}
}

func TestLimit(t *testing.T) {
	var wide strings.Builder
	for i := range shapeKeys {
		fmt.Fprintf(&wide, "%q:[1,2,3],", fmt.Sprintf("a long name of the key with the number %d", i))
	}
	long := Explore("a.json", "", []byte(`{`+wide.String()+`"z":1}`)).Summary
	if n := quarters(long) / 4; n > maxTokens || n < maxTokens*3/4 {
		t.Errorf("%d tokens for a limit of %d: %q", n, maxTokens, long)
	}
	cut := notes{limit: 40}
	for line := range strings.Lines(long) {
		cut.add(line)
	}
	if n := quarters(cut.String()) / 4; n > 48 || n < 20 {
		t.Errorf("%d tokens for a limit of 40: %q", n, cut.String())
	}
	for _, short := range []string{long, cut.String()} {
		if !strings.HasSuffix(short, "…") {
			t.Errorf("the cut is not marked: %q", short)
		}
	}
}

var names = []string{"", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.log", "a.go", "a.py", "a.js", "a.ts", "a.rs", "a.md", "a.txt", "a.xml",
	"a.html", "a.yaml", "a.toml", "a.png", "a.bin"}

// checkReport fails where a report breaks what Explore promises.
func checkReport(t interface{ Fatalf(string, ...any) }, name, mime string, data []byte) {
	r := Explore(name, mime, data)
	if r.Kind == "" || r.MIME == "" || r.Summary == "" {
		t.Fatalf("incomplete report %+v", r)
	}
	for _, s := range []string{r.Summary, r.MIME} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Fatalf("not plain text: %q", s)
		}
	}
	if n := quarters(r.Summary) / 4; n > 320 {
		t.Fatalf("%d tokens: %q", n, r.Summary)
	}
	if again := Explore(name, mime, data); again != r {
		t.Fatalf("the same bytes gave\n%+v\nand\n%+v", r, again)
	}
}

func TestHostileBytes(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"{", "}", "[", "]", "\"", "\\", ",", ":", "\n", "\t", "<", ">", "</", "<!--", "<h1>", "1", "true", "null",
		"ERROR", "2026-01-02T03:04:05Z ", "func ", "def ", "pub fn ", "# ", "---\n", "key: value\n", "\x00", "\xff", "\x1b[31m", "日本語", "\u202e", "a", "b,c\n",
		"RIFF", "WEBP", "VP8X", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF89a", strings.Repeat("x", 300), "[time=", "const fn "})
	rapid.Check(t, func(t *rapid.T) {
		data := strings.Join(rapid.SliceOf(pieces).Draw(t, "data"), "")
		checkReport(t, rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom([]string{"", "text/plain", "application/json", ";;", "\x00"}).Draw(t, "mime"), []byte(data))
	})
}

func FuzzExplore(f *testing.F) {
	for i, name := range names {
		f.Add(byte(i), "", []byte("{\"a\":[1,{\"b\":null}]}\n<a><b/></a>\n# x\n2026-01-02 ERROR "+name))
	}
	f.Fuzz(func(t *testing.T, which byte, mime string, data []byte) {
		checkReport(t, names[int(which)%len(names)], mime, data)
	})
}
