package lookup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// pages turns all pages of a grep and calls between after each but the last.
func (f *fixture) pages(r recall.GrepRequest, between func()) (all []string, last recall.GrepAnswer) {
	f.t.Helper()
	for range 1000 {
		last = f.grep(r)
		for _, m := range last.Matches {
			if !m.Beside {
				all = append(all, m.ID.String())
			}
		}
		if r.Cursor = last.NextCursor; r.Cursor == "" {
			return all, last
		}
		if between != nil {
			between()
		}
	}
	f.t.Fatal("the pages do not end")
	return nil, last
}

// Full text by recency reaches every match, newest first, whether the words
// are looked up or the texts have to be read for a phrase.
func TestFullTextByRecencyIsComplete(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	var words, phrases []string
	for i, id := range f.say(c, messages(1500, func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf("the marmalade jar number %d", i)
		}
		return fmt.Sprintf("a jar of marmalade, number %d", i)
	})...) {
		words = append([]string{id.String()}, words...)
		if i%3 == 0 {
			phrases = append([]string{id.String()}, phrases...)
		}
	}
	for pattern, want := range map[string][]string{"marmalade": words, `"marmalade jar"`: phrases, "marmal*": words} {
		got, last := f.pages(recall.GrepRequest{
			Pattern: pattern, Mode: store.FullText, Sort: store.ByRecency, Limit: 70, Where: recall.Where{Current: c},
		}, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
		if last.Total > len(want) || !last.TotalIsLowerBound && last.Total != len(want) {
			t.Errorf("%s: the total is %d (at least: %v) of %d", pattern, last.Total, last.TotalIsLowerBound, len(want))
		}
	}
}

// A ranking that ends before the matches do says so where it ends.
func TestRankingSaysWhatItLeftOut(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	f.say(c, messages(900, func(i int) string { return fmt.Sprintf("the marmalade jar number %d", i) })...)
	for pattern, note := range map[string]string{
		"marmalade":       "only the best 400 of 900 matches were ranked; narrow the search or sort by recency",
		`"marmalade jar"`: "matches were ranked; narrow the search or sort by recency",
	} {
		r := recall.GrepRequest{Pattern: pattern, Mode: store.FullText, Limit: 150, Where: recall.Where{Current: c}}
		if first := strings.Join(f.grep(r).Notes, "\n"); strings.Contains(first, note) {
			t.Errorf("%s: the first page says %q", pattern, first)
		}
		got, last := f.pages(r, nil)
		contains(t, pattern, strings.Join(last.Notes, "\n"), note)
		if len(got) < 400 || last.Total < len(got) || last.Total < 900 && !last.TotalIsLowerBound {
			t.Errorf("%s: %d on the pages, the total is %d (at least: %v)", pattern, len(got), last.Total, last.TotalIsLowerBound)
		}
	}
}

// What is said while somebody turns the pages neither repeats nor hides a
// match: the pages are those of the answer at the time of the first.
func TestPagesStandStill(t *testing.T) {
	for _, sort := range []store.Sort{store.ByRecency, store.ByRelevance} {
		t.Run(string(sort), func(t *testing.T) {
			f := newFixture(t)
			c := f.open("busy")
			f.say(c, messages(120, func(i int) string {
				return strings.Repeat("marmalade ", 1+i%4) + strings.Repeat("toast ", i%3) + fmt.Sprintf("with %d words around it", i)
			})...)
			r := recall.GrepRequest{Pattern: "marmalade toast", Mode: store.FullText, Sort: sort, Limit: 200, Where: recall.Where{Current: c}}
			want, _ := f.pages(r, nil)
			r.Limit = 13
			n := 0
			got, _ := f.pages(r, func() {
				for range 25 { // toast becomes a common word
					n++
					f.say(c, llms.User(fmt.Sprintf("toast %d", n)))
				}
				f.say(c, llms.User("marmalade toast marmalade toast"))
			})
			if diff := cmp.Diff(want, got); diff != "" || len(want) != 120 {
				t.Errorf("%d were there: %s", len(want), diff)
			}
		})
	}
}

// The limit counts every entry, and no page has only messages beside a match.
func TestTheLimitCountsEveryEntry(t *testing.T) {
	f := newFixture(t)
	c := f.open("talk")
	for i := range 7 {
		f.say(c, llms.User(fmt.Sprintf("does the zeppelin %d fly?", i)), llms.Assistant("It does."), llms.User("good"), llms.Assistant("And on."), llms.User("yes"))
	}
	for _, compact := range []bool{true, false} {
		for limit := 1; limit <= 8; limit++ {
			r := recall.GrepRequest{Pattern: "zeppelin", Mode: store.FullText, Limit: limit, Compact: compact, Where: recall.Where{Current: c}}
			for left := 7; left > 0; left -= limit {
				a := f.grep(r)
				if len(a.Matches) != min(limit, left) || a.Total != 7 || (a.NextCursor == "") != (left <= limit) {
					t.Errorf("limit %d, %d left: %d entries of %d, cursor %q", limit, left, len(a.Matches), a.Total, a.NextCursor)
				}
				r.Cursor = a.NextCursor
			}
		}
	}
}

func TestGrepRefusesTheCursorOfAnotherQuestion(t *testing.T) {
	s := newStory(t)
	r := recall.GrepRequest{Pattern: "deployment", Limit: 1, Where: s.here()}
	r.Cursor = s.grep(r).NextCursor
	for name, change := range map[string]func(*recall.GrepRequest){
		"pattern":    func(r *recall.GrepRequest) { r.Pattern = "deploy" },
		"mode":       func(r *recall.GrepRequest) { r.Mode = store.FullText },
		"kinds":      func(r *recall.GrepRequest) { r.Kinds = recall.InMessages },
		"since":      func(r *recall.GrepRequest) { r.Since = "2020-01-01" },
		"before":     func(r *recall.GrepRequest) { r.Before = "2040-01-01" },
		"role":       func(r *recall.GrepRequest) { r.Role = llms.RoleUser },
		"tool":       func(r *recall.GrepRequest) { r.Tool = "Bash" },
		"everything": func(r *recall.GrepRequest) { r.Everything = true },
		"scope":      func(r *recall.GrepRequest) { r.AllConversations = true },
	} {
		other := r
		change(&other)
		if _, err := s.Grep(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another question") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}
