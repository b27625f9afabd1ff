package lookup_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// patterns are varied on purpose: literals of every length, classes, anchors,
// alternatives, case, repetition, other scripts, and nothing to look up.
var patterns = []string{
	"alpha", "ALPHA", "(?i)alpha", "alph", "al", "a", "alpha beta", `alpha\s+beta`, "alpha|beta", "(alpha|beta) gamma", "alpha.*gamma", "alpha.+?delta",
	"^alpha", "beta$", "(?m)^beta", "(?m)delta$", `\balpha\b`, `\Balpha`, `alpha\B`, "^$", "^.$", "", ".", `(?s).*`, `\n`,
	`delta_\w+`, `delta_one`, `delta_(one|two)`, `_one\b`, `epsilon\.two`, "epsilon.two", `zeta-\d`, `zeta-[0-4]`, `zeta-[^0-4]`, "zeta-3 zeta",
	"0x1f", "0x[0-9a-f]+", "0x[0-9a-f]{2}", "[0-9]+", `\d{3}`, `\d{3,}`, `\D\d\D`, `\b42\b`, "42", "4.2", `id=\d+`, `id=1\d\d\b`, `id=777\b`, "id=77", "id=(1|2)5",
	"配置", "配置文件", "配", "[配文]", `\p{Han}`, `\p{Han}{4}`, "café", "caf.", "cafe", "(?i)CAFÉ", "É", "ß", "(?i)STRASSE", "(?i)straße", "(?i)K", "ſ", "(?i)s{2}",
	"error: done", "error:.*42", "(?i)ERROR: (done|alpha)", "error:|done", "(?:error:){2}", `error:\s*error:`, "(alpha|beta|gamma){3}", "(?:alpha ){2,}", "x*", "x+", "[^a-z]alpha",
	"[[:upper:]]{3}", "[[:punct:]]{2}", "Gamma", "gamma", "(?i)gamma ETA", "ETA", "ETA ETA", `E\wA`, "[E][T][A]", "(E)(T)(A)", "nowhere", "(?i)no-where", `\Qepsilon.two\E`,
	"🦊", "🦊.*🦊", `\x{1F98A}`, "\x00", `\x00`, `\t`, `make deploy`, `"cmd":"make`, `\{"cmd"`, "exit status [1-9]", "^exit", "(?i)TLS_cert", "a.b", `a\.b`, "al?pha", "alp[gh]a", "(al|be)(pha|ta)", "alpha(beta)?",
}

// Every pattern finds exactly the texts that a loop over all of them finds, newest first,
// over every page.
func TestRegexEqualsBruteForce(t *testing.T) {
	if len(patterns) < 100 {
		t.Fatalf("%d patterns", len(patterns))
	}
	f := newFixture(t, lookup.WithCountTo(1<<30))
	c, texts := haystack(f, 1500)
	for n, p := range patterns {
		re := regexp.MustCompile(p)
		var want []string
		for id := len(texts); id > 0; id-- {
			if re.MatchString(texts[id-1]) {
				want = append(want, fmt.Sprintf("msg_%d", id))
			}
		}
		if strings.TrimSpace(p) == "" {
			continue // refused, and tested elsewhere
		}
		r := recall.GrepRequest{Pattern: p, Kinds: recall.InMessages, Limit: recall.MaxLimit, Where: recall.Where{Current: c}}
		first := f.grep(r)
		if first.Total != len(want) || first.TotalIsLowerBound {
			t.Errorf("%q: counted %d (lower bound: %t), want %d", p, first.Total, first.TotalIsLowerBound, len(want))
		}
		got := strings.Fields(ids(first))
		if n%10 == 0 {
			got = pages(f, r, 300)
		}
		if diff := cmp.Diff(want[:min(len(want), len(got))], got, cmpopts.EquateEmpty()); diff != "" || len(got) < min(len(want), r.Limit) {
			t.Errorf("%q: %d ids (-want +got):\n%s", p, len(got), diff)
		}
		for _, m := range first.Matches {
			if len(m.MatchRanges) == 0 {
				t.Errorf("%q: %s has nothing marked in %q", p, m.ID, m.Snippet)
			}
		}
	}
}

// pages walks the cursors and returns up to n ids.
func pages(f *fixture, r recall.GrepRequest, n int) []string {
	var all []string
	for len(all) < n {
		a := f.grep(r)
		for _, m := range a.Matches {
			all = append(all, m.ID.String())
		}
		if r.Cursor = a.NextCursor; r.Cursor == "" {
			break
		}
	}
	return all[:min(n, len(all))]
}

// haystack fills a conversation with texts of every shape and returns the text of
// each that is searched.
func haystack(f *fixture, n int) (store.ConversationID, []string) {
	rng := rand.New(rand.NewPCG(7, 11))
	words := []string{"alpha", "beta", "Gamma", "delta_one", "delta_two", "epsilon.two", "epsilonXtwo", "zeta-3", "zeta-7", "ETA", "42", "0x1f", "配置", "配置文件", "café", "Straße", "\n", "\t", "error:", "done", "🦊", "a.b", "alphabeta", "SS", "K", "ſt"}
	say := func() string {
		var all []string
		for range rng.IntN(9) {
			all = append(all, words[rng.IntN(len(words))])
		}
		return strings.Join(all, " ")
	}
	c := f.open("haystack")
	var texts []string
	for len(texts) < n {
		var ms []llms.Message
		for range 500 {
			id := len(texts)
			text := say()
			switch rng.IntN(6) {
			case 0:
				args := fmt.Sprintf(`{"cmd":"make deploy","id=%d":"%s"}`, id, strings.ReplaceAll(text, "\n", " "))
				ms = append(ms, llms.Calls("", llms.ToolCall{ID: fmt.Sprint(id), Name: "shell", Arguments: args}))
				texts = append(texts, "shell\n"+args)
			case 1:
				out := fmt.Sprintf("exit status %d\n%s\x00", id%3, text)
				ms = append(ms, llms.Result(fmt.Sprint(id), "shell", out, false))
				texts = append(texts, "shell\n"+out)
			default:
				text += fmt.Sprintf(" id=%d", id)
				ms = append(ms, llms.User(text))
				texts = append(texts, text)
			}
		}
		f.say(c, ms...)
	}
	return c, texts
}

// However small the pages, together they are the answer, in its order.
func TestPagesAddUp(t *testing.T) {
	s := newStory(t)
	c := s.open("pages")
	s.say(c, messages(40, func(i int) string { return fmt.Sprintf("the otter %d %s", i, strings.Repeat("swims ", i%5)) })...)
	for i := range 6 {
		s.fold(c, i, i+2, fmt.Sprintf("otters %d and the otter", i))
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := recall.GrepRequest{
			Pattern: rapid.SampledFrom([]string{"otter", "the otter", "swims"}).Draw(rt, "pattern"),
			Mode:    rapid.SampledFrom([]store.Mode{store.Regex, store.FullText}).Draw(rt, "mode"),
			Sort:    rapid.SampledFrom([]store.Sort{"", store.ByRecency, store.ByRelevance}).Draw(rt, "sort"),
			Kinds:   rapid.SampledFrom([]string{recall.InBoth, recall.InMessages, recall.InSummaries}).Draw(rt, "scope"),
			Where:   recall.Where{Current: c},
			Limit:   recall.MaxLimit,
		}
		whole := pages(s.fixture, r, 1000)
		r.Limit = rapid.IntRange(1, 20).Draw(rt, "limit")
		if diff := cmp.Diff(whole, pages(s.fixture, r, 1000)); diff != "" {
			rt.Fatalf("%+v (-whole +pages):\n%s", r, diff)
		}
	})
}
