package ui_test

import (
	"encoding/json"
	"testing"
	"time"
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
	has(t, second, "Request 2 of 3", "40,000 tokens became <strong>9,000</strong>", "/summary/"+top, "It is no longer in the record.", "input cost 2,500", "model-x")
	checkTags(t, "/session/1/sent?request=2", second)
	has(t, v.page("/session/1/context?at=10"), `href="/session/1/sent"`, `Sent <span class="quiet">3</span>`)
}
