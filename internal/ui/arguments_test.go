package ui_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// TestCallsAreReadable checks that arguments of tools are shown as a person reads
// them: each after its name, a file as its lines, a patch as a diff, no escaped JSON.
func TestCallsAreReadable(t *testing.T) {
	for _, c := range []struct {
		name, arguments string
		has             []string
	}{
		{"an edit", `{"file_path":"a.go","old_string":"one\ntwo","new_string":"one\n2 <b>"}`,
			[]string{"<code>a.go</code>", "file_path: a.go\n", `<span class="same"> one`, `<span class="removed">-two`, `<span class="added">+2 &lt;b&gt;`,
				`<a href="/why?file=a.go&amp;session=1">`}},
		{"a file", `{"path":"c.go","content":"package c\n\nvar \"q\"\n"}`, []string{"path: c.go\ncontent:\n", `<span class="keyword">package</span> c`, `<span class="string">&#34;q&#34;</span>`}},
		{"a command", `{"command":["bash","-lc","go test ./..."],"timeout":5}`, []string{"<code>go test ./...</code>", "command: go test ./...\ntimeout: 5\n</pre>"}},
		{"a patch", "*** Begin Patch\n*** Update File: d.go\n@@\n-old\n+new\n*** End Patch", []string{`<span class="removed">-old`, `<span class="added">+new`, `<span class="hunk">*** Update File: d.go`}},
		{"no object", `[1, 2]`, []string{"[1, 2]</pre>"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newSite(t)
			v.add("s", 0, []llms.Message{{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "edit", Arguments: c.arguments}}}}})
			has(t, v.page("/session/1"), c.has...)
			checkTags(t, "/session/1", v.page("/session/1"))
		})
	}
}

// TestLongCallIsCut checks that a list shows the beginning of a long argument, and
// the page of the message all of it.
func TestLongCallIsCut(t *testing.T) {
	v := newSite(t)
	v.add("s", 0, []llms.Message{{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "write",
		Arguments: `{"path":"a","content":"` + strings.Repeat(`line\n`, 2000) + `END"}`}}}}})
	list := v.page("/session/1")
	has(t, list, "Show all: 7,021 more characters")
	if strings.Contains(list, "END") {
		t.Error("the list shows the end of a long argument")
	}
	has(t, v.page("/message/msg_1"), "END\n</pre>")
}
