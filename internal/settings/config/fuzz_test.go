package config

import (
	"errors"
	"testing"
)

// Whatever a file holds, Load returns values that are allowed or an error.
func FuzzLoad(f *testing.F) {
	f.Add("[compaction]\nleaf_chunk_tokens = 6000\n")
	f.Add("log.level = \"info\" # x\n[context]\nhard_threshold = 1e0\n")
	f.Add("[ingest]\nignore_session_patterns = [\n'a', # b\n]\n")
	f.Add("[log\n")
	f.Fuzz(func(t *testing.T, file string) {
		c, err := Load(world(nil, file+"\n"))
		if err != nil {
			if one, ok := errors.AsType[*Error](err); ok && one.Error() == "" {
				t.Error("an empty error")
			}
			return
		}
		for _, s := range table {
			text, err := c.Get(s.Key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.parse(text); err != nil && s.Kind != Strings {
				t.Errorf("%s was loaded as %q, which is not allowed: %v", s.Key, text, err)
			}
		}
	})
}

// A file that Set edited still loads, holds the new value, and every other
// value is as it was.
func FuzzSet(f *testing.F) {
	f.Add("[log]\nlevel = 'warn' # quiet\n", "log.level", "debug")
	f.Add("# top\n\n[ingest]\nignore_session_patterns = [\"\"\"a\n]\"\"\",\n 'b']\n", "ingest.large_file_token_threshold", "900")
	f.Add("[storage]\ndatabase_path = \"x\\\"y\"", "storage.database_path", "~/a b.db")
	f.Fuzz(func(t *testing.T, src, key, value string) {
		before, err := parseFile("before", []byte(src))
		if err != nil {
			return
		}
		edited, err := Set([]byte(src), key, value)
		if err != nil {
			return
		}
		after, err := parseFile("after", edited)
		if err != nil {
			t.Fatalf("Set broke the file: %v\n%s", err, edited)
		}
		s, _ := lookup(key)
		want, _ := s.parse(value)
		got, err := s.convert(after.values[key])
		if err != nil || literal(s.toml(got)) != literal(s.toml(want)) {
			t.Fatalf("%s reads back as %v (%v), want %v", key, got, err, want)
		}
		delete(before.values, key)
		delete(after.values, key)
		for k, v := range asText(before.values) {
			if asText(after.values)[k] != v {
				t.Errorf("%s changed from %s", k, v)
			}
		}
	})
}

// toml passes a converted value through a Config, as rendering does.
func (s Setting) toml(value any) any {
	var c Config
	s.set(&c, value)
	return s.get(&c)
}
