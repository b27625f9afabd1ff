package ui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
)

// api decodes the JSON of a page.
func api[T any](v *site, path string) (out T) {
	v.t.Helper()
	if err := json.Unmarshal([]byte(v.page("/api"+path)), &out); err != nil {
		v.t.Fatal(err)
	}
	return out
}

func TestHomeListsSessionsByProjectAndHost(t *testing.T) {
	v := newSite(t)
	v.addSample()
	v.add("other", 0, []llms.Message{llms.User("What is a parcel?")})
	has(t, v.page("/"), "2 sessions", "Parcel tracking", "What is a parcel?", "codex", "parcels")
	only := v.page("/?host=codex")
	has(t, only, "Parcel tracking")
	if strings.Contains(only, "What is a parcel?") {
		t.Error("the filter by host lists a session of another host")
	}
}

// TestSessionsGoOn checks that the page has the command that opens the session in its host, or that
// brings it back.
func TestSessionsGoOn(t *testing.T) {
	v := newSite(t)
	one := []llms.Message{llms.User("one")}
	v.add("a", 0, one, lcm.WithAgent("codex"))
	v.add("codex:2b", 0, one, lcm.WithAgent("codex"))
	v.add("c", 0, one)
	has(t, v.page("/session/1"), `data-copy="codex resume 1b"`, "To go on with it")
	has(t, v.page("/session/2"), `data-copy="lcm undelete 2b"`, "To bring it back")
	if strings.Contains(v.page("/session/3"), "data-copy") {
		t.Error("a session that came from no agent has a command")
	}
}

// TestWindowsCoverTheSession walks through a session by the links of its windows.
func TestWindowsCoverTheSession(t *testing.T) {
	v := newSite(t)
	v.addSample()
	articles := regexp.MustCompile(`<article [^>]*data-seq="(\d+)"`)
	next := regexp.MustCompile(`href="([^"]+)" rel="next"`)
	path, seen := "/session/1", 0
	for path != "" {
		body := v.page(path)
		for _, m := range articles.FindAllStringSubmatch(body, -1) {
			if seen++; m[1] != fmt.Sprint(seen) {
				t.Fatalf("message %s follows %d", m[1], seen-1)
			}
		}
		path = ""
		if m := next.FindStringSubmatch(body); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if seen != 563 {
		t.Errorf("the windows show %d messages, want 563", seen)
	}
	has(t, v.page("/session/1?at=400"), `class="message`, `id="msg_400"`, "Earlier messages", "Later messages")
}

// TestErasedMessagesKeepTheirPlace checks that the newest message is found, and no
// message is called new, after an older one was erased.
func TestErasedMessagesKeepTheirPlace(t *testing.T) {
	v := newSite(t)
	v.add("s", 0, []llms.Message{llms.User("one"), llms.User("two"), llms.User("three")})
	if _, err := v.engine.Store().Erase(t.Context(), store.Erasure{Messages: []store.MessageID{1}}); err != nil {
		t.Fatal(err)
	}
	page := v.page("/session/1")
	has(t, page, "2 messages", `data-total="3"`, `href="/session/1?at=3"`)
	has(t, v.page("/session/1/context"), `max="3"`)
}

// TestMapCoversMessages checks that the leaves of the map cover the folded
// messages without gaps, and that a summary leads down to messages and back up.
func TestMapCoversMessages(t *testing.T) {
	v := newSite(t)
	v.addSample()
	type block struct {
		ID              string
		Depth, Messages int
		From, To        int64
	}
	m := api[struct {
		Depths int
		Blocks []block
	}](v, "/session/1/map")
	if m.Depths < 2 {
		t.Fatalf("the map has %d depths", m.Depths)
	}
	first, end, covered := int64(0), int64(0), 0
	for _, b := range m.Blocks {
		if b.Depth != 0 {
			continue
		}
		if first == 0 {
			first, end = b.From, b.From
		}
		if b.From != end {
			t.Errorf("%s begins at %d, the leaf before it ends at %d", b.ID, b.From, end)
		}
		end, covered = b.To, covered+b.Messages
	}
	if int64(covered) != end-first || covered < 300 {
		t.Errorf("the leaves cover %d messages, from %d to %d", covered, first, end)
	}
	top := m.Blocks[0]
	sum := api[struct{ Sources, Derived []struct{ ID string } }](v, "/summary/"+top.ID)
	for len(sum.Sources) > 0 && strings.HasPrefix(sum.Sources[0].ID, "sum_") {
		sum = api[struct{ Sources, Derived []struct{ ID string } }](v, "/summary/"+sum.Sources[0].ID)
	}
	has(t, v.page("/message/"+sum.Sources[0].ID), top.ID)
	has(t, v.page("/summary/"+top.ID), "Made from", "Expand for details about")
	has(t, v.page("/session/1"), "/summary/"+top.ID)
	page := v.page("/summary/" + top.ID)
	places := regexp.MustCompile(`<a href="(/session/1\?at=(\d+))">(user|assistant|tool|system)#(\d+)</a>: ([^<…]{10,40})`).FindAllStringSubmatch(page, -1)
	if len(places) == 0 {
		t.Errorf("the summary names no message:\n%s", page)
	}
	for _, m := range places {
		if m[2] != m[4] {
			t.Errorf("%s leads to %s", m[0], m[1])
		}
		has(t, v.page("/message/msg_"+m[2]), strings.Fields(m[5])[0])
	}
}

func TestSearchFilters(t *testing.T) {
	v := newSite(t)
	v.addSample()
	type answer struct {
		Total   int
		Matches []struct{ ID, Role, Type string }
		Refused string
	}
	if words := api[answer](v, "/search?q=interval"); words.Total == 0 {
		t.Fatalf("%+v", words)
	}
	has(t, v.page("/search?q=interval&role=user"), "<mark>interval</mark>", "<option selected>user</option>")
	has(t, v.page("/search?mode=regex&q=("), "; the syntax is RE2")
	for _, role := range []string{"user", "assistant", "tool"} {
		for _, m := range api[answer](v, "/search?q=interval&mode=regex&role="+role).Matches {
			if m.Role != role {
				t.Errorf("role %s finds %s of %s", role, m.ID, m.Role)
			}
		}
	}
	has(t, v.page("/search?mode=regex&q=("), "or use &#34;words&#34;")
	has(t, v.page("/search?mode=regex&q=never+said+this%3F"), "&#34;words&#34; finds the words of a question")
	if wrong := api[answer](v, "/search?mode=regex&q="+url.QueryEscape("(")); wrong.Refused == "" {
		t.Error("a wrong expression was not refused")
	}
}

// TestSlowPartsAreLoadedLater checks that a page does not wait for the part that takes
// long, that the part is in the page for a browser without scripts, and that the
// links of the part lead to pages.
func TestSlowPartsAreLoadedLater(t *testing.T) {
	v := newSite(t)
	v.addSample()
	for path, part := range map[string]string{
		"/search?q=interval": `class="item match"`, "/session/1/context?at=400&budget=16000": `class="shares"`,
	} {
		_, page := v.request(path)
		if strings.Contains(page, part) {
			t.Errorf("%s has its slow part", path)
		}
		has(t, page, `data-load="`+strings.ReplaceAll(path, "&", "&amp;"), "&amp;now=1")
		_, now := v.request(path + "&now=1")
		has(t, now, part, "</html>")
		_, fragment := v.request(path + "&fragment=1")
		has(t, fragment, part)
		if strings.Contains(fragment, "<html") || strings.Contains(now+fragment, "now=1") || strings.Contains(now+fragment, "fragment=1") {
			t.Errorf("%s: a link leads to a part, or the part is a whole page", path)
		}
	}
	if stored := v.page("/session/1/stored?fragment=1"); !strings.Contains(stored, `class="shares"`) || strings.Contains(stored, "<html") {
		t.Errorf("the part of what is stored: %.200s", stored)
	}
	_, page := v.request("/search?q=the&now=1")
	next := regexp.MustCompile(`href="(/search\?[^"]*cursor=[^"]*)"`).FindStringSubmatch(page)
	if next == nil {
		t.Fatal("there is no second page of matches")
	}
	has(t, v.page(strings.ReplaceAll(next[1], "&amp;", "&")), `class="item match"`)
	match := regexp.MustCompile(`class="item match"><a href="([^"]*)"`)
	if first, second := match.FindStringSubmatch(page)[1], match.FindStringSubmatch(v.page(strings.ReplaceAll(next[1], "&amp;", "&")))[1]; first == second {
		t.Error("the second page begins with the match of the first")
	}
}

// TestContextFitsItsBudget checks the replay: it ends at the point, fits the
// budget, and says the size of the history there.
func TestContextFitsItsBudget(t *testing.T) {
	v := newSite(t)
	v.addSample()
	type seen struct {
		At      int64
		Tokens  int
		History int64
		Kinds   []struct {
			Kind   string
			Tokens int
		}
		Items []struct {
			Message *struct{ Seq int64 }
			Covers  int
		}
	}
	for _, budget := range []int{4000, 16_000, 120_000} {
		got := api[seen](v, fmt.Sprintf("/session/1/context?at=400&budget=%d", budget))
		if got.Tokens > budget || got.Tokens == 0 {
			t.Errorf("a budget of %d gives %d tokens", budget, got.Tokens)
		}
		sum, folded := 0, false
		for _, k := range got.Kinds {
			sum += k.Tokens
		}
		for _, it := range got.Items {
			folded = folded || it.Covers > 0
		}
		last := got.Items[len(got.Items)-1]
		if last.Message == nil || last.Message.Seq != 400 {
			t.Errorf("budget %d: the context does not end with message 400: %+v", budget, last)
		}
		if sum > got.Tokens || folded != (budget < 100_000) {
			t.Errorf("budget %d: kinds have %d of %d tokens, folded is %v", budget, sum, got.Tokens, folded)
		}
	}
}

// A count of matches says how many there are among the records that a search leaves out.
func TestSearchCountsWhatItLeavesOut(t *testing.T) {
	v := newSite(t)
	v.add("one", 0, []llms.Message{llms.Text(llms.RoleUser, "the pool is small"), llms.Text(llms.RoleUser, "the pool again")})
	if _, err := v.engine.Session("one").AppendInputs(t.Context(), record.Input{Message: llms.Text(llms.RoleUser, "a host wrote of the pool"), Flags: store.FlagSynthetic}); err != nil {
		t.Fatal(err)
	}
	has(t, v.page("/search?q=pool&now=1"), "2 messages with a match", `<a href="/search?all=1&amp;q=pool">1 more</a> among the hosts' own records`)
	has(t, v.page("/search?q=why+is+cassandra+behind+the+pool&now=1"), "not in the record: cassandra")
	if page := v.page("/search?q=pool&all=1&now=1"); strings.Contains(page, "1 more") || !strings.Contains(page, "3 messages with a match") {
		t.Error("a search of everything leaves something out")
	}
}

// A replay of a long session begins late and says so, and its summaries name the messages by
// their numbers in the session, though messages before them were left out or erased.
func TestLongReplaysNameTheirMessages(t *testing.T) {
	v := newSite(t)
	var ms []llms.Message
	for i := range 5050 {
		ms = append(ms, llms.Text(llms.RoleUser, fmt.Sprintf("decide %d: keep the value of step-%d.go", i+1, i+1)))
	}
	v.add("long", 0, ms)
	if _, err := v.engine.Store().(store.Eraser).Erase(t.Context(), store.Erasure{Messages: []store.MessageID{60, 61, 62}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	page := v.page("/session/1/context?at=5050&budget=4000")
	has(t, page, "This replay begins with message 51:")
	if strings.Contains(page, "would have shown") {
		t.Error("the page says that a model would have been shown this")
	}
	named := regexp.MustCompile(`\?at=([0-9]+)">user#([0-9]+)</a>: decide ([0-9]+):`).FindAllStringSubmatch(page, -1)
	if len(named) < 5 {
		t.Fatalf("summaries name %d messages: %s", len(named), page)
	}
	for _, m := range named {
		if m[1] != m[3] || m[2] != m[3] {
			t.Errorf("message %s is called %s and links to %s", m[3], m[2], m[1])
		}
	}
	if strings.Contains(v.page("/session/1/context?at=40&budget=4000"), "This replay begins") {
		t.Error("a short replay is said to begin late")
	}
}

// The first view of a context is the one that lcm keeps, with the size that `lcm
// context` prints, and each of the three says in its title which it is.
func TestStoredContextComesFirst(t *testing.T) {
	v := newSite(t)
	v.addSample()
	has(t, v.page("/session/1"), `<a href="/session/1/stored?at=40" id="context-link">`)
	s, err := v.engine.Resume(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Preview(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	got := api[struct {
		Stored bool
		Tokens int
		Items  []struct{ Tokens int }
	}](v, "/session/1/stored?at=40")
	if !got.Stored || got.Tokens != want.Tokens || len(got.Items) != len(want.Items) {
		t.Errorf("%d items with %d tokens, want %d with %d", len(got.Items), got.Tokens, len(want.Items), want.Tokens)
	}
	for path, title := range map[string]string{"stored": "Stored", "context?at=40": "Replayed", "sent": "Sent"} {
		page := v.page("/session/1/" + path)
		has(t, page, "<title>"+title+" ", "<h1>"+title+": ", `aria-current="page">`+title)
		checkTags(t, path, page)
	}
}

// TestFileIsShownAndSaved checks the page of a payload and its bytes.
func TestFileIsShownAndSaved(t *testing.T) {
	v := newSite(t)
	large := strings.Repeat("a line of a large log <b>bold</b>\n", 6000)
	v.add("s", 0, []llms.Message{llms.User("read it"), llms.Result("c", "read", large, false)})
	found := regexp.MustCompile(`/file/(file_[0-9a-f]{16})`).FindStringSubmatch(v.page("/session/1"))
	if found == nil {
		t.Fatal("the session links to no file")
	}
	has(t, v.page("/file/"+found[1]), "&lt;b&gt;bold", "msg_2")
	resp, err := v.client.Get(v.url + "/file/" + found[1] + "/content")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header; got.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.Get("Content-Disposition"), "attachment") ||
		!strings.Contains(got.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the content is served as %v", got)
	}
}

// TestImagesKeepTheirShape checks that a page gives images the room that they need.
func TestImagesKeepTheirShape(t *testing.T) {
	v := newSite(t)
	for size, want := range map[[2]int]string{{960, 320}: `width="480" height="160"`, {10, 640}: `width="5" height="320"`, {32, 16}: `width="32" height="16"`} {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, size[0], size[1]))); err != nil {
			t.Fatal(err)
		}
		v.add(fmt.Sprint(size), 0, []llms.Message{{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: b.Bytes()}}}}})
		sessions := api[struct{ Total int }](v, "/sessions").Total
		has(t, v.page(fmt.Sprintf("/session/%d", sessions)), want, `alt="image"`)
	}
}

func TestUnknownAddressesAreNotFound(t *testing.T) {
	v := newSite(t)
	for path, want := range map[string]int{
		"/session/9": 404, "/session/x": 404, "/message/msg_9": 404, "/message/sum_0123456789abcdef": 404, "/summary/sum_0123456789abcdef": 404,
		"/file/file_0123456789abcdef": 404, "/nowhere": 404, "/assets/x/nothing.js": 404, "/api/session/9": 404, "/?limit=x": 400,
	} {
		if code, _ := v.get(path); code != want {
			t.Errorf("GET %s: %d, want %d", path, code, want)
		}
	}
	for path, text := range map[string]string{
		"/session/9": "There is no session 9 in this record.", "/message/msg_9": "There is no message msg_9 in this record.",
		"/message/x": "There is no message x in this record.", "/file/file_0123456789abcdef": "There is no file file_0123456789abcdef in this record.",
		"/nowhere": "There is no page at this address.",
	} {
		_, body := v.get(path)
		has(t, body, text, "<h1>Not found</h1>")
	}
}

// A question is answered above the matches with passages of the record, as `lcm ask` does without
// a model; a word is not a question.
func TestQuestionsAreAnswered(t *testing.T) {
	v := newSite(t)
	v.add("one", 0, []llms.Message{llms.User("Which port does the relay use?"), llms.Assistant("The relay listens on port 7411 <b>now</b>.")})
	page := v.page("/search?q=which+port+does+the+relay+use&now=1")
	has(t, page, `<h2 id="answer">`, `<a class="id" href="/message/msg_2">msg_2</a> assistant: The relay listens on port 7411 &lt;b&gt;now&lt;/b&gt;.`, `<a href="/session/1">session 1</a>`)
	checkTags(t, "search", page)
	if strings.Index(page, "answer") > strings.Index(page, "at least one of the words") {
		t.Error("the matches come before the answer")
	}
	if strings.Contains(v.page("/search?q=relay&now=1"), `id="answer"`) {
		t.Error("a word has an answer")
	}
	v.add("two", 0, []llms.Message{llms.User("The relay of the other session has a port, too: which one is its use?")})
	if inOne := v.page("/search?q=relay+other+session&session=1&now=1"); strings.Contains(inOne, "msg_3") || !strings.Contains(inOne, "In the session") {
		t.Error("a search within a session finds another")
	}
}

// The page of a file names the prompts that changed it, and reads nothing but the record.
func TestWhyOfAFile(t *testing.T) {
	v := newSite(t)
	call := func(id, file, text string) llms.Message {
		return llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "Write",
			Arguments: fmt.Sprintf(`{"file_path":%q,"content":%q}`, file, text)}}}}
	}
	in := lcm.WithProject(store.Project{Root: "/srv/relay"})
	v.add("one", 0, []llms.Message{llms.User("Let the relay listen on 7411."), call("a", "/srv/relay/relay.go", "const port = 7411")}, in)
	v.add("two", 0, []llms.Message{llms.User("Write something else."), call("b", "/srv/relay/other.go", "package other")}, in)
	page := v.page("/why?file=%2Fsrv%2Frelay%2Frelay.go&session=1")
	has(t, page, "<h1>Why relay.go</h1>", "Let the relay listen on 7411.", `<a class="reference" href="/session/1">`, `<a href="/message/msg_2">`)
	if strings.Contains(page, "something else") {
		t.Error("the page names the prompt of another file")
	}
	has(t, v.page("/why?file=%2Fetc%2Fpasswd&session=1"), "no session of the record changed this file")
	if code, body := v.get("/why?file=x"); code != http.StatusBadRequest {
		t.Errorf("a page without a session: %d %s", code, body)
	}
}

// Times and days are in the zone of the reader, whose name the script keeps in a cookie; a name
// that is no zone changes nothing.
func TestZoneOfTheReader(t *testing.T) {
	v := newSite(t)
	m := llms.User("late")
	m.Time = time.Date(2026, 3, 2, 23, 30, 0, 0, time.UTC)
	v.add("one", 0, []llms.Message{m})
	here, err := url.Parse(v.url)
	if err != nil {
		t.Fatal(err)
	}
	for zone, want := range map[string]string{"Asia/Tokyo": `data-day="2026-03-03">3 March 2026</p>`, "../../etc/passwd": m.Time.Local().Format(time.DateOnly)} {
		v.client.Jar.SetCookies(here, []*http.Cookie{{Name: "lcm_zone", Value: zone}})
		has(t, v.page("/session/1"), want)
	}
}

// The export of a session is a page that needs no server.
func TestExportOnThePage(t *testing.T) {
	v := newSite(t)
	v.add("one", 0, []llms.Message{llms.User("keep <this>")})
	has(t, v.page("/session/1"), `href="/session/1/export"`)
	has(t, v.page("/session/1/export"), "keep &lt;this&gt;", "default-src 'none'")
}
