package lookup_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// FuzzGrep holds Grep to an answer or a refusal, and every answer to marks
// that lie inside its snippets, whatever is asked.
func FuzzGrep(f *testing.F) {
	s := newStory(f)
	s.say(s.a, llms.User("bytes \xff\xfe\x00 and \u202e marks"))
	page := s.grep(recall.GrepRequest{Pattern: "deployment", Limit: 1, Where: s.here()})
	f.Add("deployment", "regex", "", "", page.NextCursor)
	f.Add(`+deployment -friday "why does"`, "full_text", "2026-02-18", "2026-02-19T00:00:00+01:00", "")
	f.Add("(?i)[^a-z]{2,}$", "", "1970-01-01", "", "e30")
	f.Fuzz(func(t *testing.T, pattern, mode, since, before, cursor string) {
		a, err := s.Grep(t.Context(), recall.GrepRequest{
			Pattern: pattern, Mode: store.Mode(mode), Since: since, Before: before, Cursor: cursor, Limit: 3, Where: s.here(),
		})
		if err != nil {
			if !errors.Is(err, recall.ErrRefused) {
				t.Fatalf("the error is no refusal: %v", err)
			}
			return
		}
		for _, m := range a.Matches {
			last := 0
			for _, r := range m.MatchRanges {
				if r[0] < last || r[1] < r[0] || r[1] > utf8.RuneCountInString(m.Snippet) {
					t.Fatalf("%v lies outside %q", m.MatchRanges, m.Snippet)
				}
				last = r[1]
			}
		}
		if !utf8.ValidString(a.Text()) && utf8.ValidString(pattern) {
			t.Errorf("the text is not UTF-8: %q", a.Text())
		}
	})
}

// FuzzCursors holds Describe and Expand to an answer or a refusal for cursors
// that somebody made up.
func FuzzCursors(f *testing.F) {
	fix := newFixture(f)
	c, _, _, top := deep(fix)
	where := recall.Where{Current: c}
	a := fix.expand(recall.ExpandRequest{SummaryIDs: []store.SummaryID{top.ID}, TokenCap: 3, Where: where})
	f.Add(a.NextCursor, string(top.ID))
	d := fix.describe(recall.DescribeRequest{ID: idOf("msg_1"), MaxTokens: 3, Where: where})
	f.Add(d.NextCursor, "msg_1")
	f.Add("", "[LCM Summary: sum_0]")
	f.Fuzz(func(t *testing.T, cursor, id string) {
		_, err := fix.Expand(t.Context(), recall.ExpandRequest{SummaryIDs: []store.SummaryID{store.SummaryID(id)}, TokenCap: 3, Cursor: cursor, Where: where})
		if err != nil && !errors.Is(err, recall.ErrRefused) {
			t.Fatalf("expand: the error is no refusal: %v", err)
		}
		a, err := fix.Describe(t.Context(), recall.DescribeRequest{ID: idOf(id), MaxTokens: 3, Cursor: cursor, Where: where})
		if err != nil {
			if !errors.Is(err, recall.ErrRefused) {
				t.Fatalf("describe: the error is no refusal: %v", err)
			}
			return
		}
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var again recall.DescribeAnswer
		if err := json.Unmarshal(b, &again); err != nil || again.Content != a.Content {
			t.Fatalf("%q came back as %q, %v", a.Content, again.Content, err)
		}
	})
}

// FuzzDescribeBounds holds Describe to whole characters of the right bytes, no
// more than was allowed, whatever the bound.
func FuzzDescribeBounds(f *testing.F) {
	s := newStory(f)
	whole := map[string]string{}
	for _, id := range []string{"msg_1", s.file} {
		whole[id] = s.describe(recall.DescribeRequest{ID: idOf(id), Where: s.here()}).Content
	}
	for _, n := range []int{0, 2, 7, math.MaxInt, math.MaxInt/32 + 1, -1} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, maxTokens int) {
		for id, text := range whole {
			a, err := s.Describe(t.Context(), recall.DescribeRequest{ID: idOf(id), MaxTokens: maxTokens, Where: s.here()})
			if err != nil {
				if !errors.Is(err, recall.ErrRefused) {
					t.Fatalf("the error is no refusal: %v", err)
				}
				continue
			}
			if !strings.HasPrefix(text, a.Content) || !utf8.ValidString(a.Content) {
				t.Fatalf("%s does not begin with %q", id, a.Content)
			}
			if (maxTokens == 0 || maxTokens >= len(text)) && a.Content != text {
				t.Errorf("%s: %d bytes of %d, with room for all", id, len(a.Content), len(text))
			}
			if n := llms.Estimate.Count(a.Content); maxTokens > 1 && n > maxTokens {
				t.Errorf("%s: %d tokens, %d were allowed", id, n, maxTokens)
			}
		}
	})
}
