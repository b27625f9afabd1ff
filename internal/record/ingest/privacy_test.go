package ingest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"secret-*", "secret-1", true},
		{"secret-*", "secret-1/2/3", true},
		{"*", "import:/home/me/a.jsonl", true},
		{"import:*.tmp", "import:/a/b.tmp", true},
		{"import:*.tmp", "import:/a/b.tmp.jsonl", false},
		{"*/private/*", "import:/home/private/x/y", true},
		{"*/private/*", "import:/home/public/x", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"ab*ba", "aba", false},
		{"exact", "exact", true},
		{"exact", "exactly", false},
		{"[a]?", "[a]?", true},
		{"", "x", false},
	} {
		if got := matches(c.pattern, c.key); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.key, got)
		}
	}
}

func TestIgnoredProjects(t *testing.T) {
	p := Privacy{IgnoreProjects: []string{"/home/ada/clients/*", "/srv/secret/", "github.com/acme/*", "https://git.example.org:8443/Secret/App.git", "git@gitlab.com:Hidden/*"}}
	for _, c := range []struct {
		in   store.Project
		want bool
	}{
		{store.Project{}, false},
		{store.Project{Root: "/home/ada/clients"}, false},
		{store.Project{Root: "/home/ada/clients/bank"}, true},
		{store.Project{Root: "/home/ada/clients/bank/api"}, true},
		{store.Project{Root: "/srv/secret"}, true},
		{store.Project{Root: "/srv/secret/deeper"}, true},
		{store.Project{Root: "/srv/secretary"}, false},
		{store.Project{Root: "/anywhere", Origin: "github.com/acme/tool"}, true},
		{store.Project{Root: "/anywhere", Origin: "GitHub.com/Acme/Tool"}, true},
		{store.Project{Root: "/anywhere", Origin: "github.com/acme"}, false},
		{store.Project{Root: "/anywhere", Origin: "github.com/acmex/tool"}, false},
		{store.Project{Root: "/anywhere", Origin: "git.example.org/secret/app"}, true},
		{store.Project{Root: "/anywhere", Origin: "gitlab.com/hidden/x/y"}, true},
		{store.Project{Root: "/anywhere", Origin: "gitlab.com/open/x"}, false},
		{store.Project{Root: "/HOME/ada/clients/bank"}, false},
	} {
		err := CheckIgnored(p, "key", c.in)
		if got := errors.Is(err, ErrIgnored); got != c.want {
			t.Errorf("CheckIgnored(%+v) = %v, want %v", c.in, err, c.want)
		}
	}
}

func TestMatchesProject(t *testing.T) {
	for _, c := range []struct {
		pattern string
		in      store.Project
		want    bool
	}{
		{"github.com/acme/tool", store.Project{Root: "/srv/x", Origin: "github.com/acme/tool"}, true},
		{"github.com/acme/tool/", store.Project{Origin: "github.com/acme/tool"}, true},
		{"github.com/acme/tool", store.Project{Origin: "github.com/acme/tool/sub"}, false},
		{"github.com/acme/*", store.Project{Origin: "github.com/acme/tool/sub"}, true},
		{"/srv/x", store.Project{Root: "/srv/x", Origin: "github.com/acme/tool"}, false},
		{"/srv/x", store.Project{Root: "/srv/x"}, true},
		{"*", store.Project{}, false},
	} {
		if got := MatchesProject(c.pattern, c.in); got != c.want {
			t.Errorf("MatchesProject(%q, %+v) = %v", c.pattern, c.in, got)
		}
	}
}

// A payload whose id is taken by other content has another one wherever the message names it.
func TestPayloadsAreRenamed(t *testing.T) {
	file := func(id string) llms.Part { return llms.Part{Kind: llms.PartBlob, Ref: &llms.Ref{ID: id}} }
	nested := llms.Part{Kind: llms.PartToolResult, Result: &llms.ToolResult{Output: []llms.Part{file("a"), file("b")}}}
	p := prepared{row: store.NewMessage{
		Cuts: []store.Cut{{Payload: "a"}, {Payload: "b"}}, Payloads: []store.PayloadID{"a", "b"},
		Body: &llms.Message{Parts: []llms.Part{file("b"), file("a"), {Kind: llms.PartText}, nested}},
	}}
	p.rename("a", "c")
	got := fmt.Sprint(p.row.Cuts[0].Payload, p.row.Cuts[1].Payload, p.row.Payloads)
	for _, ref := range store.Refs(p.row.Body.Parts) {
		got += " " + ref.ID
	}
	if want := "cb[c b] b c c b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.row.Body = nil
	p.rename("b", "d")
	if p.row.Cuts[1].Payload != "d" {
		t.Errorf("a message that is its record: %v", p.row.Cuts)
	}
}
