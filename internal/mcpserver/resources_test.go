package mcpserver_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// read reads a resource to its end, following where each part says that it
// goes on.
func (c *client) read(uri string) (content []byte, parts int) {
	c.t.Helper()
	for ; uri != ""; parts++ {
		r, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			c.t.Fatalf("%s: %v", uri, err)
		}
		first := r.Contents[0]
		content = append(append(content, first.Text...), first.Blob...)
		if n := llms.Estimate.Count(mustJSON(c.t, r)); n > mcpserver.DefaultMaxTokens {
			c.t.Errorf("%s: %d tokens", uri, n)
		}
		uri, _ = first.Meta["nextUri"].(string)
		if (uri != "") != (len(r.Contents) == 2) || uri != "" && !strings.Contains(r.Contents[1].Text, uri) {
			c.t.Errorf("the reader is not told that it goes on: %s", mustJSON(c.t, r.Contents[1:]))
		}
	}
	return content, parts
}

func TestResourcesAreReadByteForByte(t *testing.T) {
	r := newRecord(t)
	long := strings.Repeat("a \"line\" of a long file 漢字\n", 4000)
	binary := bytes.Repeat([]byte{0xff, 0x00, 0x89, 'P'}, 5000)
	id := r.say("claude:s", r.dir, time.Minute, user("hello"), llms.Result("c", "cat", long, false), llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Name: "x.png", Data: binary}},
	}})
	var messages, files []string
	for m, err := range r.db.Messages(t.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m.ID.String())
		ids, err := r.db.Attached(t.Context(), m.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ids {
			files = append(files, string(f))
		}
	}
	sum := r.fold(id, "Hello was said.")
	c := r.connect(r.serve(r.config()), clientOptions{})
	list, err := c.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(list.ResourceTemplates) != 3 {
		t.Fatalf("templates %+v, %v", list, err)
	}
	tests := []struct {
		uri   string
		want  string
		parts int
	}{
		{"lcm://message/" + messages[0], "hello", 1},
		{"lcm://message/" + strings.TrimPrefix(messages[0], "msg_"), "hello", 1},
		{"lcm://summary/" + string(sum.ID), "Hello was said.", 1},
		{"lcm://file/" + files[0], long, 5},
		{"lcm://file/" + files[1], string(binary), 3},
	}
	for _, test := range tests {
		got, parts := c.read(test.uri)
		if string(got) != test.want || parts < test.parts {
			t.Errorf("%s: %d of %d bytes in %d parts", test.uri, len(got), len(test.want), parts)
		}
	}
	for _, uri := range []string{
		"lcm://message/msg_99", "lcm://message/" + files[0], "lcm://file/file_0000000000000000", "lcm://summary/x y", "lcm://summary/sum_",
		"lcm://conversation/1", "lcm://message/msg_1/../msg_2", "file:///etc/passwd", "lcm://message/msg_1 msg_2",
	} {
		if got, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is %s", uri, mustJSON(t, got))
		}
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "lcm://file/" + files[0] + "?cursor=nonsense"}); err == nil {
		t.Error("a damaged cursor is accepted")
	}
}

// The listed resources are the summaries at the beginning of the current view.
func TestSummariesOfTheCurrentConversationAreListed(t *testing.T) {
	r := newRecord(t)
	empty := r.connect(r.serve(r.config()), clientOptions{})
	if list, err := empty.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	id := r.say("claude:s", r.dir, time.Minute, user("one"), user("two"))
	sum := r.fold(id, "Two things were said.")
	r.fold(r.say("claude:there", r.other, 0, user("three")), "Something else was said.")
	c := r.connect(r.serve(r.config()), clientOptions{})
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "lcm://summary/"+string(sum.ID) || list.Resources[0].Title != "Summary of 2 messages" {
		t.Fatalf("got %s, %v", mustJSON(t, list), err)
	}
	if got, _ := c.read(list.Resources[0].URI); string(got) != sum.Body {
		t.Errorf("read %q", got)
	}
}

// A damaged resource says so in its first part, on every page.
func TestDamagedResourcesAreMarked(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s", r.dir, time.Minute, user("hello"), user("%s", strings.Repeat("a line that was said \n", 2000)))
	raw, err := sqlite3.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.Exec("UPDATE chunks SET compressed = 0, data = CAST(replace(hex(zeroblob(30000)), '0', 'z ') AS BLOB)"); err != nil {
		t.Fatal(err)
	}
	c := r.connect(r.serve(r.config()), clientOptions{})
	pages := 0
	for uri := "lcm://message/msg_2"; uri != ""; pages++ {
		got, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		if got.Contents[0].Text != store.DamageNotice || got.Contents[1].Meta["damaged"] != true {
			t.Fatalf("page %d of what was changed begins with %.80q", pages, got.Contents[0].Text)
		}
		uri, _ = got.Contents[1].Meta["nextUri"].(string)
	}
	if pages < 2 {
		t.Errorf("%d pages: a second one was to be looked at", pages)
	}
	whole, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "lcm://message/msg_1"})
	if err != nil || whole.Contents[0].Text != "hello" {
		t.Errorf("%+v, %v", whole, err)
	}
}
