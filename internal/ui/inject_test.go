package ui_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// edit returns the arguments of a tool with a text in every place.
func edit(p string) string {
	text, err := json.Marshal(map[string]any{"path": p, p: p, "content": p + "\n" + p, "edits": []any{map[string]string{"old_string": p, "new_string": "new " + p}}, "old": "\n" + p, "new": p})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// addPayloads stores every payload as title, project, host, message, name and
// arguments of a tool, output, reasoning and file name, and folds the session.
func (v *site) addPayloads() {
	for i, p := range payloads {
		v.add(fmt.Sprintf("%d %s", i, p), 1000, []llms.Message{
			llms.User(p),
			{Role: llms.RoleAssistant, Parts: []llms.Part{
				{Kind: llms.PartReasoning, Text: p},
				{Kind: llms.PartText, Text: "**bold** " + p + "\n\n- " + p + "\n\n```\n" + p + "\n```\n"},
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: p, Arguments: fmt.Sprintf("{%q:%q}", p, p)}},
				{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "e", Name: "edit", Arguments: edit(p)}},
			}},
			llms.Result("c", p, p+"\n@@ -1 +1 @@\n+"+p+"\n-"+p, true),
			{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: p, Name: p, URL: "http://evil.example/" + p}}}},
			{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: strings.Repeat("padding that folds the session: "+p+"\n", 60)}}},
			llms.Assistant("done " + p),
		}, lcm.WithTitle(p), lcm.WithAgent(p), lcm.WithProject(store.Project{Root: "/srv/" + p}))
	}
}

// addProxiedPayloads stores every payload as host, session, model, failure and note of
// a proxied run, and as model and purpose of spend.
func (v *site) addProxiedPayloads() {
	for i, p := range payloads {
		key := fmt.Sprintf("%d %s", i, p)
		v.put("proxy-run", key, proxy.Run{ID: key, Host: p, Sessions: []string{key}, Started: time.Now(), Requests: 1, Cost: 1, Plain: 2})
		v.put("proxy-request", key, []proxy.Composition{{Model: p, Failure: p, Note: p, Over: p + "!", FullTokens: 10, Tokens: 5, Summaries: []proxy.UsedSummary{{ID: store.SummaryID(p), Tokens: 3}}}})
		v.put("spend", key, spend.Entry{Day: "2026-03-02", Purpose: p, Model: p, Calls: 1})
	}
}

// The elements and attributes that the templates and the Markdown renderer write.
var (
	ownElements = strings.Fields(`!doctype html head meta title link script body a header form label input kbd nav main h1 h2 p span time article
		section aside div select option ul ol li details summary code pre em strong del blockquote hr br table thead tbody tr th td svg g rect text line polyline
		figure figcaption noscript button fieldset legend textarea output img mark dl dt dd h3 caption dialog`)
	ownAttributes = strings.Fields(`lang charset name content href rel type src class role for id value placeholder autocomplete spellcheck
		aria-hidden aria-label aria-live aria-current datetime title tabindex hidden data-seq data-day data-load data-for data-panel data-whole data-session
		data-total data-offset data-copy aria-labelledby data-all data-messages selected action method formmethod formaction viewbox preserveaspectratio x y width height rx
		transform x1 x2 y1 y2 points fill checked size min max step rows required maxlength open target start align disabled alt loading scope aria-labelledby`)
	tag       = regexp.MustCompile(`<[^>]*>`)
	attribute = regexp.MustCompile(`([^\s"'=/<>]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]*))?`)
)

// checkTags fails on an element or attribute that the templates do not write, and on
// an address that does not lead to the server or, in a link, to a web page.
func checkTags(t *testing.T, path, body string) {
	t.Helper()
	for _, raw := range tag.FindAllString(body, -1) {
		inner := strings.Trim(raw, "<>/")
		parts := attribute.FindAllStringSubmatch(inner, -1)
		if len(parts) == 0 || !slices.Contains(ownElements, strings.ToLower(parts[0][1])) {
			t.Fatalf("%s has the element %s", path, raw)
		}
		if strings.EqualFold(parts[0][1], "!doctype") {
			continue
		}
		for _, a := range parts[1:] {
			name, value := strings.ToLower(a[1]), strings.Trim(a[2], `"'`)
			if !slices.Contains(ownAttributes, name) {
				t.Fatalf("%s has the attribute %q: %s", path, name, raw)
			}
			local := strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") || strings.HasPrefix(value, "#")
			web := parts[0][1] == "a" && strings.Contains(raw, "noopener") && regexp.MustCompile(`^(https?|mailto):`).MatchString(value)
			if (name == "href" || name == "src" || name == "action" || name == "formaction" || name == "data-load") && !local && !web {
				t.Fatalf("%s leads elsewhere: %s", path, raw)
			}
		}
	}
}

// TestPayloadsStayText stores texts that attack a page in every place that a page
// shows, and checks the markup of every page.
func TestPayloadsStayText(t *testing.T) {
	if len(payloads) < 60 {
		t.Fatalf("there are %d payloads", len(payloads))
	}
	v := newSite(t)
	v.addPayloads()
	v.addProxiedPayloads()
	paths := []string{"/", "/?limit=500"}
	for i, p := range payloads {
		n := i + 1
		paths = append(paths,
			fmt.Sprintf("/session/%d", n), fmt.Sprintf("/session/%d?at=2&all=1", n), fmt.Sprintf("/session/%d/map", n),
			fmt.Sprintf("/message/msg_%d", i*6+2), fmt.Sprintf("/message/msg_%d", i*6+3), fmt.Sprintf("/message/msg_%d", i*6+4),
			"/search?q="+url.QueryEscape(p), "/why?session=1&file="+url.QueryEscape(p), "/search?mode=regex&q="+url.QueryEscape(regexp.QuoteMeta(p)),
			"/search?q=bold&tool="+url.QueryEscape(p)+"&host="+url.QueryEscape(p), "/search?q=bold&since="+url.QueryEscape(p),
			"/?project="+url.QueryEscape("/srv/"+p), "/session/"+url.PathEscape(p), "/message/"+url.PathEscape(p),
			fmt.Sprintf("/session/%d/sent", n))
		if i%10 == 0 { // they take long
			paths = append(paths, fmt.Sprintf("/session/%d/context?budget=4000", n), "/search?session=1&q=why+is+the+padding+"+url.QueryEscape(p))
		}
	}
	summaries := map[string]bool{}
	for _, path := range paths {
		_, body := v.get(path)
		checkTags(t, path, body)
		for _, m := range regexp.MustCompile(`/summary/sum_[0-9a-f]{16}`).FindAllString(body, -1) {
			summaries[m] = true
		}
	}
	if len(summaries) < 20 {
		t.Errorf("only %d summaries were made of the payloads", len(summaries))
	}
	for path := range summaries {
		checkTags(t, path, v.page(path))
	}
}

// TestCheckTagsFindsMarkup checks the check.
func TestCheckTagsFindsMarkup(t *testing.T) {
	v := newSite(t)
	v.add("s", 0, []llms.Message{llms.User(`**bold** [web](https://example.com/?a=1&b=2 "t") <script>x</script>`)})
	body := v.page("/session/1")
	checkTags(t, "/session/1", body)
	has(t, body, "<strong>bold</strong>", `href="https://example.com/?a=1&amp;b=2"`, "&lt;script&gt;x&lt;/script&gt;")
}
