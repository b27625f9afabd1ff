package ui_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestAddressNamesTheSummary opens a session with a summary beside it.
func TestAddressNamesTheSummary(t *testing.T) {
	v := newSite(t)
	v.addSample()
	id := api[struct{ Blocks []struct{ ID string } }](v, "/session/1/map").Blocks[0].ID
	has(t, v.page("/session/1?at=80&summary="+id), `class="session open"`, `data-load="/summary/`+id, "Made from")
	for _, wrong := range []string{"", "msg_1", `"><script>`} {
		page := v.page("/session/1?summary=" + url.QueryEscape(wrong))
		if strings.Contains(page, "session open") || !strings.Contains(page, `tabindex="-1" hidden>`) {
			t.Errorf("%q opens the panel", wrong)
		}
	}
}

// TestMatchesAddUp checks that the pages of a search list as many messages as they
// count, that they list or name only summaries that they count, and that each row has
// a word of the search.
func TestMatchesAddUp(t *testing.T) {
	v := newSite(t)
	v.addSample()
	type answer struct {
		Total, InMessages, InSummaries int
		Cursor                         string
		Matches                        []struct {
			ID          string
			Beside      bool
			MatchRanges [][2]int
			AlsoIn      []string
		}
	}
	for _, query := range []string{"q=CHG-1192", "q=interval", "q=INC-2231", "q=interval&mode=regex", "q=polling+interval+nordpil"} {
		path, messages, summaries := "/search?"+query, map[string]bool{}, map[string]bool{}
		var first answer
		for cursor := ""; ; {
			a := api[answer](v, path+"&cursor="+url.QueryEscape(cursor))
			if cursor == "" {
				first = a
			}
			for _, m := range a.Matches {
				if m.Beside || len(m.MatchRanges) == 0 {
					t.Errorf("%s lists %s, which has none of the words", query, m.ID)
				}
				listed := messages
				if strings.HasPrefix(m.ID, "sum_") {
					listed = summaries
				}
				listed[m.ID] = true
				for _, id := range m.AlsoIn {
					summaries[id] = true
				}
			}
			if cursor = a.Cursor; cursor == "" {
				break
			}
		}
		if len(messages) != first.InMessages || len(summaries) > first.InSummaries || first.InMessages+first.InSummaries != first.Total {
			t.Errorf("%s: %d messages and %d summaries are listed, and the page counts %d, %d and %d", query, len(messages), len(summaries), first.InMessages, first.InSummaries, first.Total)
		}
	}
	has(t, v.page("/search?q=CHG-1192"), "also in")
}

// TestTimesHaveAZone checks that every page names the zone of its times, and that a
// program can read each.
func TestTimesHaveAZone(t *testing.T) {
	v := newSite(t)
	v.addSample()
	id := api[struct{ Blocks []struct{ ID string } }](v, "/session/1/map").Blocks[0].ID
	shown := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)
	machine := regexp.MustCompile(`<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ">[^<]*</time>`)
	tags := regexp.MustCompile(`<title>[^<]*</title>|<[^>]*>`)
	for _, path := range []string{"/", "/session/1", "/message/msg_400", "/summary/" + id, "/search?q=pakkit", "/session/1/context?at=80"} {
		page := v.page(path)
		has(t, page, ">times in ")
		if !machine.MatchString(page) {
			t.Errorf("%s has no time that a program can read", path)
		}
		// Messages and quotes may have times of their own.
		said := regexp.MustCompile(`(?s)<(blockquote|pre|code|div class="prose[^"]*"|span class="snippet"|details class="tool.*?)>.*?</(blockquote|pre|code|div|span|details)>|<li><a href="/message/.*?</li>`)
		rest := tags.ReplaceAllString(machine.ReplaceAllString(said.ReplaceAllString(page, ""), ""), "")
		if bare := shown.FindString(rest); bare != "" {
			t.Errorf("%s shows %s without <time>", path, bare)
		}
	}
}
