package ui_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/llms"
)

// put stores a value of a space of the store's state.
func (v *site) put(space, key string, value any) {
	v.t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		_, err = v.engine.Store().Put(v.t.Context(), space, key, data, 0, time.Time{})
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// post sends a form from a page of the server, with its token.
func (v *site) post(path string, form url.Values) (int, string) {
	v.t.Helper()
	token := regexp.MustCompile(`name="token" value="([A-Z0-9]{26})"`).FindStringSubmatch(v.page("/health"))
	if token == nil {
		v.t.Fatal("the page has no token")
	}
	form.Set("token", token[1])
	return v.postRaw(path, form, v.url)
}

func (v *site) postRaw(path string, form url.Values, origin string) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", origin)
	resp, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestCheckProvesTheRecord reads the events of a check, and compares its digest with
// that of the engine.
func TestCheckProvesTheRecord(t *testing.T) {
	v := newSite(t)
	v.addSample()
	v.add("other", 0, []llms.Message{llms.User("What is a parcel?")})
	has(t, v.page("/health/check"), "Nothing was checked yet")
	resp, err := v.client.Get(v.url + "/health/check/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var events, doing []string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			events = append(events, event)
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			var p struct {
				Doing       string
				Done, Total int64
			}
			if err := json.Unmarshal([]byte("{"+data), &p); err != nil || p.Total != 0 && (p.Total != 564 || p.Done > p.Total) {
				t.Errorf("progress %s: %v", data, err)
			}
			doing = append(doing, p.Doing)
		}
	}
	if n := len(events); n < 4 || events[n-1] != "done" || strings.Count(strings.Join(events, " "), "done") != 1 {
		t.Errorf("the events are %q", events)
	}
	if all := strings.Join(doing, "\n"); !strings.Contains(all, "proving Parcel tracking") || !strings.Contains(all, "proving What is a parcel?") {
		t.Errorf("the check said %q", doing)
	}
	want, err := v.engine.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := api[struct {
		Sound    bool
		Digest   string
		Messages int64
		Sessions []struct{ Messages int64 }
	}](v, "/health/check")
	if !got.Sound || got.Digest != fmt.Sprintf("%x", want.Digest) || got.Messages != want.Messages || len(got.Sessions) != 2 {
		t.Errorf("the check says %+v, and the engine %d messages with digest %x", got, want.Messages, want.Digest)
	}
	has(t, v.page("/health"), "Nothing is lost or changed.", got.Digest)
}

// TestCheckNamesADamagedMessage changes a stored record behind the store's back.
func TestCheckNamesADamagedMessage(t *testing.T) {
	v := newSite(t)
	v.add("s", 0, []llms.Message{llms.User("one"), llms.User("two <b>"), llms.User("three")})
	err := v.engine.Store().(*sqlite.DB).File().Transact(t.Context(), func(c *dbfile.Conn) error {
		return c.Exec(`UPDATE messages SET record = ? WHERE id = 2`, []byte("TWO"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, body := v.post("/health/check", url.Values{}); code != http.StatusOK {
		t.Fatalf("%d: %s", code, body)
	}
	page := v.page("/health")
	has(t, page, "Something is wrong.", `href="/message/msg_2"`)
	checkTags(t, "/health", page)
	got := api[struct {
		Sound    bool
		Digest   string
		Sessions []struct{ Faults []struct{ Node string } }
	}](v, "/health/check")
	if got.Sound || got.Digest != "" || len(got.Sessions) != 1 || len(got.Sessions[0].Faults) == 0 || got.Sessions[0].Faults[0].Node != "msg_2" {
		t.Errorf("the check says %+v", got)
	}
}

// TestHealthAddsUpSpendAndRuns checks the figures of the page against the records.
func TestHealthAddsUpSpendAndRuns(t *testing.T) {
	v := newSite(t)
	v.addSample()
	day := func(d int) time.Time { return time.Date(2026, 3, d, 9, 0, 0, 0, time.UTC) }
	v.put("spend", "a", spend.Entry{Day: "2026-03-02", Purpose: "summary", Model: "m<b>", Calls: 3, InputTokens: 1000, OutputTokens: 100})
	v.put("spend", "b", spend.Entry{Day: "2026-03-04", Purpose: "answer", Model: "m", Calls: 1, InputTokens: 500, OutputTokens: 50})
	v.put("proxy-run", "r1", proxy.Run{ID: "r1", Host: "claude", Started: day(2), Ended: day(2), Sessions: []string{"gone", "sample"}, Requests: 7, Changed: 5, Cost: 40_000, Plain: 100_000})
	v.put("proxy-run", "r2", proxy.Run{ID: "r2", Host: "codex", Started: day(3), Requests: 2, Cost: 35_000, Plain: 50_000, Failures: map[string]int{"x": 2}})
	got := api[struct {
		Runs []struct {
			ID      string
			Saved   float64
			Session int64
			Passed  int `json:"passedUnchanged"`
		}
		All struct {
			Calls, InputTokens int64
			Cost, Plain        float64
		}
	}](v, "/health")
	if len(got.Runs) != 2 || got.Runs[0].ID != "r2" || got.Runs[0].Passed != 2 || got.Runs[1].Session != 1 || got.Runs[1].Saved != 0.6 {
		t.Errorf("the runs are %+v", got.Runs)
	}
	if got.All.Calls != 4 || got.All.InputTokens != 1500 || got.All.Cost != 75_000 || got.All.Plain != 150_000 {
		t.Errorf("the sums are %+v", got.All)
	}
	page := v.page("/health")
	has(t, page, "50 % saved", "60 %", `href="/session/1/sent"`, "m&lt;b&gt;", "2 runs cost 75,000 instead of 150,000 input tokens", "4 calls, 1,500 tokens in, 150 out")
	checkTags(t, "/health", page)
}

// TestSentShowsProxiedRequests checks the requests of a session and their cost.
func TestSentShowsProxiedRequests(t *testing.T) {
	v := newSite(t)
	v.addSample()
	has(t, v.page("/session/1/sent"), "No request of this session came through lcm")
	top := api[struct {
		Blocks []struct{ ID string }
	}](v, "/session/1/map").Blocks[0].ID
	request := func(full, tokens int, summaries ...string) map[string]any {
		used := []map[string]any{}
		for _, id := range summaries {
			used = append(used, map[string]any{"id": id, "messages": 100, "tokens": 400})
		}
		return map[string]any{"at": "2026-03-02T09:00:00Z", "model": "model-x", "budget": 16000, "messages": 120, "fullTokens": full, "tokens": tokens,
			"dropped": 100 * len(summaries), "summaries": used, "fold": len(summaries) > 0, "latency": 5_000_000,
			"usage": map[string]int{"input": 1000, "cacheRead": 10_000, "cacheWrite": 400, "output": 70}}
	}
	v.put("proxy-request", "sample", []any{request(12_000, 12_000), request(40_000, 9_000, top, "sum_0123456789abcdef"), request(300, 300)})
	got := api[struct {
		Number   int
		Requests []struct {
			Cost, AddedTokens float64
			KeptMessages      int
		}
		Summaries []struct {
			ID, Body string
			Gone     bool
		}
		Kinds []struct {
			Kind   string
			Tokens int
		}
	}](v, "/session/1/sent")
	if got.Number != 2 || len(got.Requests) != 3 || got.Requests[1].Cost != 2500 || got.Requests[1].AddedTokens != 800 {
		t.Errorf("%+v", got)
	}
	second := v.page("/session/1/sent?request=2")
	has(t, second, "Request 2 of 3", "40,000 tokens became <strong>9,000</strong>", "/summary/"+top, "It is no longer in the record.", "input cost 2,500", "model-x", "lcm took 5ms")
	checkTags(t, "/session/1/sent?request=2", second)
	has(t, v.page("/session/1/context?at=10"), `href="/session/1/sent"`, `Sent <span class="quiet">3</span>`)
}
