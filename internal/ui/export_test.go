package ui_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
	"github.com/lossless-context/lcm/llms"
)

// written returns the pages of a conversation as they are written to files.
func (v *site) written(n store.ConversationID, sel ui.Selection) (session, tree string) {
	v.t.Helper()
	c, err := v.engine.Store().Conversation(v.t.Context(), n)
	if err != nil {
		v.t.Fatal(err)
	}
	var s, t bytes.Buffer
	pages, err := v.server.WriteSession(v.t.Context(), func(string) (io.Writer, error) { return &s, nil }, c, sel)
	if err != nil || pages != 1 {
		v.t.Fatalf("%d pages, %v", pages, err)
	}
	if err := v.server.WriteTree(v.t.Context(), &t, c); err != nil {
		v.t.Fatal(err)
	}
	return s.String(), t.String()
}

// A long session becomes pages that lead to each other, with every message once.
func TestLongSessionsAreWrittenAsPages(t *testing.T) {
	v := newSite(t)
	var ms []llms.Message
	for i := range 4100 {
		ms = append(ms, llms.User(fmt.Sprintf("message %d", i)))
	}
	v.add("long", 0, ms)
	c, err := v.engine.Store().Conversation(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*bytes.Buffer{}
	pages, err := v.server.WriteSession(t.Context(), func(name string) (io.Writer, error) {
		files[name] = &bytes.Buffer{}
		return files[name], nil
	}, c, ui.Selection{From: 1})
	if err != nil || pages != 3 || len(files) != 4 {
		t.Fatalf("%d pages in %d files: %v", pages, len(files), err)
	}
	for n, wanted := range map[int]int{1: 2000, 2: 2000, 3: 100} {
		if got := strings.Count(files[ui.Page(n)].String(), "<article"); got != wanted {
			t.Errorf("page %d has %d messages, want %d", n, got, wanted)
		}
	}
	for name, wanted := range map[string][]string{
		"index.html": {`<a href="page-0003.html">Messages 4,001 to 4,100</a>`},
		ui.Page(1):   {`href="page-0002.html"`, `href="#msg_1"`},
		ui.Page(2):   {`href="page-0001.html"`, `href="page-0003.html"`},
		ui.Page(3):   {`href="page-0002.html"`, `href="index.html"`},
	} {
		has(t, files[name].String(), wanted...)
	}
}

// TestWrittenPagesNeedNoServer checks that links lead within the file, and that
// attacks stay text there too.
func TestWrittenPagesNeedNoServer(t *testing.T) {
	v := newSite(t)
	v.addSample()
	for i, p := range payloads[:20] {
		v.add(fmt.Sprint(i), 0, []llms.Message{llms.User(p), llms.Result("c", p, p, true)})
	}
	// A pixel, which is stored as a payload and is put into the file.
	pixel := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 40))
	v.add("image", 0, []llms.Message{{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Name: "p.png", Data: pixel}}}}})
	head := regexp.MustCompile(`(?s)<style>.*</style>|<meta http-equiv="Content-Security-Policy" content="default-src 'none'[^>]*>`)
	for n := store.ConversationID(1); n <= 22; n++ {
		session, tree := v.written(n, ui.Selection{From: 1})
		for _, page := range []string{session, tree} {
			checkTags(t, fmt.Sprint(n), strings.ReplaceAll(head.ReplaceAllString(page, ""), `src="data:image/png;`, `src="/`))
			for _, bad := range []string{"<script", ` href="/`, ` src="/`, "url("} {
				if strings.Contains(page, bad) {
					t.Errorf("session %d: the page has %q", n, bad)
				}
			}
			for _, m := range regexp.MustCompile(`href="#(\w+)"`).FindAllStringSubmatch(page, -1) {
				if !strings.Contains(page, `id="`+m[1]+`"`) {
					t.Errorf("session %d: a link leads to %s, which is not in the page", n, m[1])
				}
			}
		}
		if n == 1 && (strings.Count(session, "<article") != 563 || strings.Count(tree, `<section class="summary"`) < 5) {
			t.Error("the pages of the bundled session are not whole")
		}
		if n == 1 && strings.Contains(tree, `class="role`) {
			t.Error("the page of the summaries lists messages")
		}
		if n == 22 && !strings.Contains(session, "data:image/png;base64,") {
			t.Error("the image is not in the page")
		}
	}
	part, _ := v.written(1, ui.Selection{From: 10, Limit: 5})
	if strings.Count(part, "<article") != 5 || !strings.Contains(part, `id="msg_10"`) {
		t.Error("the selection was not kept")
	}
}
