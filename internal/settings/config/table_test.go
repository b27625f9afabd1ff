package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/CONFIG.md")

func TestTableIsConsistent(t *testing.T) {
	types := map[Kind]reflect.Type{
		Int: reflect.TypeFor[int](), Float: reflect.TypeFor[float64](), Bool: reflect.TypeFor[bool](),
		String: reflect.TypeFor[string](), Duration: reflect.TypeFor[time.Duration](), Strings: reflect.TypeFor[[]string](),
	}
	seen := map[any]string{}
	claim := func(what any, key string) {
		if other, ok := seen[what]; ok {
			t.Errorf("%s and %s share %v", key, other, what)
		}
		seen[what] = key
	}
	var c Config
	for _, s := range Table() {
		claim(s.Key, s.Key)
		claim(s.Env, s.Key)
		claim(s.field(&c).Addr().Interface(), s.Key)
		if got, want := s.field(&c).Type(), types[s.Kind]; got != want {
			t.Errorf("%s: kind %s is held in a %s, want %s", s.Key, s.Kind, got, want)
		}
		if _, err := s.parse(s.Default); err != nil {
			t.Errorf("%s: its own default %q is refused: %v", s.Key, s.Default, err)
		}
		// How models are reached has names that other programs use as well.
		if !strings.HasPrefix(s.Env, "LCM_") && s.Section() != "models" || strings.Count(s.Key, ".") != 1 {
			t.Errorf("%s, %s: a key is section.name and a variable begins with LCM_", s.Key, s.Env)
		}
		if !strings.HasSuffix(s.Doc, ".") || strings.ContainsAny(s.Doc, "|\n") {
			t.Errorf("%s: its doc must be sentences that fit a table cell: %q", s.Key, s.Doc)
		}
		if sections[s.Section()] == "" {
			t.Errorf("%s: section %s has no description", s.Key, s.Section())
		}
		if strings.HasSuffix(s.Env, "_MS") != (s.Kind == Duration) {
			t.Errorf("%s: variables of durations, and only they, end in _MS", s.Key)
		}
	}
}

// Every field of Config that a user could set is in the table: otherwise it
// would be zero for ever.
func TestEveryFieldHasASetting(t *testing.T) {
	var c Config
	known := map[any]bool{}
	for _, s := range Table() {
		known[s.field(&c).Addr().Interface()] = true
	}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		group := v.Field(i)
		if group.Kind() != reflect.Struct {
			continue
		}
		for j := range group.NumField() {
			if !known[group.Field(j).Addr().Interface()] {
				t.Errorf("%s.%s has no setting", v.Type().Field(i).Name, group.Type().Field(j).Name)
			}
		}
	}
}

func TestDocumentationIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "CONFIG.md")
	if *update {
		if err := os.WriteFile(path, []byte(markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(markdown(), string(got)); diff != "" {
		t.Errorf("docs/CONFIG.md is stale, run `go generate ./internal/settings/config` (-want +got):\n%s", diff)
	}
}

func TestBooleans(t *testing.T) {
	s := Setting{Key: "x.y", Kind: Bool}
	for text, want := range map[string]bool{"true": true, "1": true, "false": false, " 0 ": false} {
		if got, err := s.parse(text); err != nil || got != want {
			t.Errorf("parse(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := s.parse("yes"); err == nil {
		t.Error(`parse("yes") succeeded, want an error`)
	}
	if _, err := s.convert("true"); err == nil {
		t.Error("a string for a boolean in the file succeeded, want an error")
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	s := Setting{Key: "x.key", Kind: String, Secret: true, Enum: []string{"none"}}
	if got := s.text("hunter2"); got != Redacted {
		t.Errorf("text shows %q", got)
	}
	if got := s.text(""); got != "" {
		t.Errorf("an empty secret shows %q, want it empty", got)
	}
	if _, err := s.parse("hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows the secret: %v", err)
	}
	number := Setting{Key: "x.pin", Kind: Int, Max: 10, Secret: true}
	if _, err := number.parse("4711"); err == nil || strings.Contains(err.Error(), "4711") {
		t.Errorf("the error shows the secret: %v", err)
	}
}
