package scopetest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm"
)

// Call is a call of a tool.
type Call struct {
	Kind string // the kind of thing of Foreign that it asks for
	Tool string
	Args map[string]any
	// Searches says that the answer may be one without matches instead of a refusal.
	Searches bool
}

func (c Call) String() string { return fmt.Sprintf("%s: %s %v", c.Kind, c.Tool, c.Args) }

// Refused lists a call for every tool and every kind of thing of Foreign. All of them
// must be refused, or find nothing.
func (w *World) Refused() []Call {
	message, summary, file := w.Messages[0].String(), string(w.Summaries[0]), string(w.Files[0])
	type args = map[string]any
	calls := []Call{
		{Kind: "conversation", Tool: lcm.GrepName, Args: args{"pattern": "needle", "conversationId": w.Conversations[0]}},
		{Kind: "conversation", Tool: lcm.DescribeName, Args: args{"id": message, "conversationId": w.Conversations[0]}},
		{Kind: "conversation", Tool: lcm.ExpandQueryName, Args: args{"prompt": "Where is the needle?", "query": "needle", "conversationId": w.Conversations[0]}},
		{Kind: "regex over all", Tool: lcm.GrepName, Args: args{"pattern": "qzforeign", "allConversations": true, "everything": true}, Searches: true},
		{Kind: "regex over all", Tool: lcm.GrepName, Args: args{"pattern": "s3c[0-9a-f]+", "allConversations": true, "scope": "both"}, Searches: true},
		{Kind: "words over all", Tool: lcm.GrepName, Args: args{"pattern": "qzforeign", "mode": "full_text", "allConversations": true}, Searches: true},
		{Kind: "words over all", Tool: lcm.ExpandQueryName, Args: args{"prompt": "What is qzforeign?", "query": "qzforeign", "allConversations": true}, Searches: true},
		{Kind: "typing mistake", Tool: lcm.GrepName, Args: args{"pattern": "qzforeing", "mode": "full_text", "allConversations": true}, Searches: true},
		{Kind: "message", Tool: lcm.ExpandQueryName, Args: args{"prompt": "What does it say?", "summaryIds": []string{message}, "allConversations": true}},
		{Kind: "file", Tool: lcm.ExpandQueryName, Args: args{"prompt": "What does it say?", "summaryIds": []string{file}, "allConversations": true}},
	}
	for _, id := range []struct{ kind, id string }{
		{"message", message}, {"summary", summary}, {"summary of a fork", string(w.Blend)}, {"file", file}, {"erased", w.Erased[0].String()},
	} {
		calls = append(calls,
			Call{Kind: id.kind, Tool: lcm.DescribeName, Args: args{"id": id.id, "allConversations": true}},
			Call{Kind: id.kind, Tool: lcm.DescribeName, Args: args{"id": id.id}},
			Call{Kind: id.kind, Tool: lcm.DescribeName, Args: args{"id": id.id, "conversationId": w.Conversations[1]}})
		if strings.HasPrefix(id.id, "sum_") {
			calls = append(calls, Call{Kind: id.kind, Tool: lcm.ExpandQueryName, Args: args{"prompt": "What does it say?", "summaryIds": []string{id.id}, "allConversations": true}})
		}
	}
	for _, c := range w.Cursors[lcm.GrepName] {
		for _, mode := range []string{"regex", "full_text"} {
			calls = append(calls, Call{Kind: "cursor", Tool: lcm.GrepName, Args: args{"pattern": "needle", "mode": mode, "limit": 3, "allConversations": true, "cursor": c}})
		}
	}
	for _, c := range w.Cursors[lcm.DescribeName] {
		calls = append(calls, Call{Kind: "cursor", Tool: lcm.DescribeName, Args: args{"id": file, "allConversations": true, "cursor": c}})
	}
	return calls
}

// Random returns a call at random, for things of both projects.
func (w *World) Random(r *rand.Rand) Call {
	args := map[string]any{}
	maybe := func(name string, value any) {
		if r.IntN(3) == 0 {
			args[name] = value
		}
	}
	maybe("allConversations", r.IntN(4) > 0)
	if r.IntN(4) == 0 {
		args["conversationId"] = pick(r, w.numbers)
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		args["id"] = pick(r, w.ids)
		maybe("cursor", pick(r, w.Cursors[lcm.DescribeName]))
		return Call{Kind: "random", Tool: lcm.DescribeName, Args: args}
	case 3:
		args["prompt"], args["output"] = w.pattern(r), "evidence"
		if ids := w.some(r, "sum_"); r.IntN(2) == 0 && len(ids) > 0 {
			args["summaryIds"] = ids
		} else {
			args["query"] = w.pattern(r)
		}
		return Call{Kind: "random", Tool: lcm.ExpandQueryName, Args: args}
	}
	args["pattern"] = w.pattern(r)
	maybe("mode", pick(r, []string{"regex", "full_text"}))
	maybe("scope", pick(r, []string{"messages", "summaries", "both"}))
	maybe("sort", pick(r, []string{"recency", "relevance"}))
	maybe("role", pick(r, []string{"user", "assistant", "tool"}))
	maybe("tool", "cat")
	maybe("context", r.IntN(4))
	maybe("everything", true)
	maybe("limit", 1+r.IntN(60))
	maybe("since", "2026-03-02T00:00:00Z")
	maybe("cursor", pick(r, w.Cursors[lcm.GrepName]))
	if files := w.some(r, "file_"); args["scope"] == "files" && r.IntN(2) == 0 && len(files) > 0 {
		args["fileIds"] = files
	}
	return Call{Kind: "random", Tool: lcm.GrepName, Args: args}
}

// pattern returns a search for a text of either project. A secret in it is changed, so
// that an answer that repeats the question does not count as a leak.
func (w *World) pattern(r *rand.Rand) string {
	secret := []byte(pick(r, w.secrets))
	switch r.IntN(8) {
	case 0: // a typing mistake
		at := 3 + r.IntN(len(secret)-3)
		secret[at] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", secret[at])+1)%16]
		return string(secret)
	case 1: // two letters swapped or one left out
		at := 3 + r.IntN(len(secret)-4)
		return string(slices.Delete(secret, at, at+1))
	case 2: // its beginning
		return string(secret[:6+r.IntN(6)])
	}
	return pick(r, []string{
		"needle", ".", "s3c", "s3c.*", "[0-9a-f]{12}", "qzforeign", "qzforeing", "(?i)QZ", "always use", "in a file", "\\w+", "the needle number 3",
		"What is the password?", "write the file as always", "drawer OR qzforeign", "our work", "after the fork", "cat", "theirs", "both projects",
	})
}

// some returns ids of both projects with a prefix.
func (w *World) some(r *rand.Rand, prefix string) (ids []string) {
	for range 1 + r.IntN(3) {
		if id := pick(r, w.ids); strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	return ids
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

var idPattern = regexp.MustCompile(`\b(msg|sum|file)_[0-9a-z]+\b`)

// Shown returns the secrets and the ids of Foreign that an answer shows. Ids that the
// call itself named do not count.
func (w *World) Shown(answer string, c Call) []string {
	shown := w.Leaks(answer)
	asked := fmt.Sprint(c.Args)
	for _, id := range idPattern.FindAllString(answer, -1) {
		if w.isForeign(id) && !slices.Contains(idPattern.FindAllString(asked, -1), id) {
			shown = append(shown, id)
		}
	}
	return shown
}

func (w *World) isForeign(id string) bool {
	for _, m := range slices.Concat(w.Messages, w.Erased) {
		if m.String() == id {
			return true
		}
	}
	for _, s := range w.Summaries {
		if string(s) == id {
			return true
		}
	}
	for _, f := range w.Files {
		if string(f) == id {
			return true
		}
	}
	return id == string(w.Blend)
}
