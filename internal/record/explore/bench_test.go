package explore

import (
	"bytes"
	"testing"
)

// BenchmarkLarge explores 64 MiB of each of the kinds that are read whole.
func BenchmarkLarge(b *testing.B) {
	const total = 64 << 20
	for _, tc := range []struct{ name, line string }{
		{"a.json", `{"id": 12, "name": "x", "tags": ["a", "b"], "inner": {"deep": {"deeper": [1, 2, 3]}}},` + "\n"},
		{"a.jsonl", `{"id": 12, "name": "x", "tags": ["a", "b"], "inner": {"deep": {"deeper": [1, 2, 3]}}}` + "\n"},
		{"a.csv", "1,\"quoted, text\",2026-01-02,4.5\n"},
		{"a.log", "2026-02-11 08:30:02,900 INFO job 4411 took 880 ms and went well all things considered\n"},
		{"a.go", "func (c *Cache) Get(key string) (any, bool) {\n\treturn c.load(key)\n}\n"},
		{"a.md", "# Heading\n\nA paragraph of text that goes on for a while and then ends.\n"},
		{"a.xml", "<entry id=\"1\"><title>One</title></entry>\n"},
		{"a.txt", "Words that stand in lines and lines that stand in files of some length.\n"},
	} {
		data := bytes.Repeat([]byte(tc.line), total/len(tc.line))
		if tc.name == "a.json" {
			data = append([]byte{'['}, append(data, "{}]"...)...)
		}
		b.Run(tc.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				Explore(tc.name, "", data)
			}
		})
	}
}
