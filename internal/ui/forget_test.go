package ui_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

func (v *site) addSecrets() {
	v.add("s", 0, []llms.Message{llms.User("The password is hunter2."), llms.Assistant("I will forget hunter2 soon."), llms.User("Something else.")})
	v.add("t", 0, []llms.Message{llms.User("Another session.")})
}

// seenIn returns the mark of the extent that a preview shows.
func seenIn(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="seen" value="([0-9a-f]{32})"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no form to erase with:\n%s", page)
	}
	return m[1]
}

// TestForgetShowsAsksAndErases goes from a preview to its erasure.
func TestForgetShowsAsksAndErases(t *testing.T) {
	v := newSite(t)
	v.addSecrets()
	preview := v.page("/forget?match=hunter.")
	has(t, preview, "This would be erased", "Erase 2 messages for good", "The password is hunter2.", "I will forget hunter2 soon.")
	checkTags(t, "/forget", preview)
	form := url.Values{"match": {"hunter."}, "seen": {seenIn(t, preview)}}
	if _, page := v.post("/forget", form); !strings.Contains(page, "This would be erased") {
		t.Errorf("without agreement the answer is %s", page)
	}
	has(t, v.page("/session/1"), "hunter2")
	form.Set("agreed", "1")
	code, page := v.post("/forget", form)
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, page)
	}
	has(t, page, "Erased.", "2 messages", "Tombstone 1")
	for _, path := range []string{"/session/1", "/", "/search?q=password", "/message/msg_1", "/forget"} {
		if strings.Contains(v.page(path), "hunter2") {
			t.Errorf("%s still has the secret", path)
		}
	}
	has(t, v.page("/session/1"), "Something else.", "erased")
	has(t, v.page("/message/msg_1"), "This message was erased.")
}

// TestForgetErasesOnlyThePreview changes the record between preview and order.
func TestForgetErasesOnlyThePreview(t *testing.T) {
	v := newSite(t)
	v.addSecrets()
	form := url.Values{"match": {"hunter2"}, "agreed": {"1"}, "seen": {seenIn(t, v.page("/forget?match=hunter2"))}}
	v.add("t", 0, []llms.Message{llms.User("hunter2 was said again")})
	_, page := v.post("/forget", form)
	has(t, page, "The record has changed since the preview. Nothing was erased.", "Erase 3 messages for good")
	form.Set("match", "Something")
	_, page = v.post("/forget", form)
	has(t, page, "Nothing was erased.")
	has(t, v.page("/session/1"), "The password is hunter2.", "Something else.")
}

func TestForgetSelectsAsTheCommand(t *testing.T) {
	v := newSite(t)
	v.addSecrets()
	for query, want := range map[string]string{
		"ids=1":                 "Erase 3 messages for good",
		"ids=msg_1+msg_3":       "Erase 2 messages for good",
		"match=nothing+of+this": "Nothing matches",
		"match=(":               "the pattern: error parsing regexp",
		"ids=1&match=x":         "give either sessions and messages, or a pattern",
		"ids=1+msg_1":           "sessions and messages are forgotten one after the other",
		"ids=x":                 "&#34;x&#34; is neither the number of a session nor the id of a message",
		"ids=99":                "There is no session 99",
	} {
		page := v.page("/forget?now=1&" + query)
		has(t, page, want)
		checkTags(t, query, page)
	}
}

// TestFormsNeedTheirToken checks that another site cannot send a form.
func TestFormsNeedTheirToken(t *testing.T) {
	v := newSite(t)
	v.addSecrets()
	form := url.Values{"ids": {"1"}, "agreed": {"1"}, "seen": {seenIn(t, v.page("/forget?ids=1"))}}
	for _, path := range []string{"/forget", "/ask", "/health/check"} {
		for name, c := range map[string]struct{ token, origin string }{
			"no token": {"", v.url}, "a wrong token": {"ABCDEFGHIJKLMNOPQRSTUVWXYZ", v.url}, "another origin": {"", "http://evil.example"},
		} {
			form.Set("token", c.token)
			if code, _ := v.postRaw(path, form, c.origin); code != http.StatusForbidden {
				t.Errorf("%s with %s: status %d", path, name, code)
			}
		}
	}
	if code, _ := v.post("/forget", url.Values{"match": {strings.Repeat("x", 100_000)}}); code != http.StatusForbidden {
		t.Errorf("a form of 100 kB: status %d", code)
	}
	has(t, v.page("/session/1"), "hunter2")
}
