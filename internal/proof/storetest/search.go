package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// find runs a search and returns the ids of the matches.
func (f *fixture) find(t *testing.T, q store.Search) string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	found := must(f.Search(t.Context(), q))(t)
	var ids []string
	for _, h := range found.Hits {
		if !h.Beside {
			ids = append(ids, h.ID.String())
		}
	}
	return strings.Join(ids, " ")
}

func testSearch(t *testing.T, f *fixture) {
	a, b := f.conversation(t, "a"), f.conversation(t, "b")
	payload := f.payload(t, a.ID, "inside the file: marmalade")
	call := lcmRow(t, llms.Calls("", llms.ToolCall{ID: "c1", Name: "shell", Arguments: `{"cmd":"make deploy_staging"}`}))
	result := lcmRow(t, llms.Result("c1", "shell", "exit status 2: missing TLS_CERT_PATH", true))
	file := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Ref: &llms.Ref{ID: string(payload)}}}}
	withFile := lcmRow(t, file)
	withFile.Body, withFile.Payloads = &file, []store.PayloadID{payload}
	echo := row(llms.RoleTool, "lcm found: deploy_staging")
	echo.Flags = store.FlagEcho
	late := row(llms.RoleUser, "Deployment postponed to friday")
	late.Said = f.now.Add(48 * time.Hour)
	f.append(t, a.ID, row(llms.RoleUser, "Why does the deployment fail? 配置文件"), call, result, withFile, echo, late)
	f.append(t, b.ID, row(llms.RoleAssistant, "the deployments were fine on friday"))
	sum := f.fold(t, a.ID, 0, 1, "somebody asked about a deployment\nExpand for details about: it")
	onlyA := []store.ConversationID{a.ID}
	words := must(f.Search(t.Context(), store.Search{Mode: store.FullText, Pattern: "friday marmalade nowhere", Conversations: onlyA, Limit: 10}))(t)
	var counts []string
	for _, w := range words.Words {
		counts = append(counts, fmt.Sprintf("{%s %d}", w.Word, w.Passages))
	}
	if got := fmt.Sprint(counts); got != "[{friday 1} {marmalade 1} {nowhere 0}]" || words.Passages != 6 {
		t.Errorf("the words of a search are %s of %d passages", got, words.Passages)
	}
	for _, c := range []struct {
		what string
		q    store.Search
		ids  string
	}{
		{"a pattern", store.Search{Mode: store.Regex, Pattern: "deploy"}, "msg_7 msg_2 msg_1"},
		{"a pattern without case", store.Search{Mode: store.Regex, Pattern: "(?i)deploy"}, "msg_7 msg_6 msg_2 msg_1"},
		{"a pattern with nothing to look up", store.Search{Mode: store.Regex, Pattern: "[0-9] ?:"}, "msg_3"},
		{"a pattern in tool arguments", store.Search{Mode: store.Regex, Pattern: `make \w+_staging`}, "msg_2"},
		{"a pattern in tool output", store.Search{Mode: store.Regex, Pattern: `TLS_[A-Z_]+`}, "msg_3"},
		{"a pattern in a payload", store.Search{Mode: store.Regex, Pattern: "marm.lade"}, "msg_4"},
		{"a pattern in Chinese", store.Search{Mode: store.Regex, Pattern: "配置"}, "msg_1"},
		{"in one conversation", store.Search{Mode: store.Regex, Pattern: "deploy", Conversations: onlyA}, "msg_2 msg_1"},
		{"with its own echo", store.Search{Mode: store.Regex, Pattern: "deploy", Conversations: onlyA, Everything: true}, "msg_5 msg_2 msg_1"},
		{"without the question itself", store.Search{Mode: store.Regex, Pattern: "deploy", Except: []store.MessageID{1}}, "msg_7 msg_2"},
		{"some messages only", store.Search{Mode: store.Regex, Pattern: "deploy", Only: []store.MessageID{1, 7}, Except: []store.MessageID{1}}, "msg_7"},
		{"no message", store.Search{Mode: store.Regex, Pattern: "deploy", Only: []store.MessageID{}}, ""},
		{"by role", store.Search{Mode: store.Regex, Pattern: "deploy", Roles: []llms.Role{llms.RoleAssistant}}, "msg_7 msg_2"},
		{"by tool", store.Search{Mode: store.Regex, Pattern: "e", Tool: "shell"}, "msg_3 msg_2"},
		{"by tool, in another case", store.Search{Mode: store.Regex, Pattern: "e", Tool: "Shell"}, "msg_3 msg_2"},
		{"since", store.Search{Mode: store.Regex, Pattern: "(?i)deploy", Since: f.now.Add(time.Hour)}, "msg_6"},
		{"before", store.Search{Mode: store.Regex, Pattern: "(?i)postponed", Before: f.now.Add(48 * time.Hour)}, ""},
		{"summaries", store.Search{Mode: store.Regex, Pattern: "somebody", Summaries: true}, string(sum.ID)},
		{"words of summaries", store.Search{Mode: store.FullText, Pattern: "who asked?", Summaries: true}, string(sum.ID)},
		{"a word in a payload", store.Search{Mode: store.FullText, Pattern: "marmalade"}, "msg_4"},
		{"part of an identifier", store.Search{Mode: store.FullText, Pattern: "cert"}, "msg_3"},
		{"a required word", store.Search{Mode: store.FullText, Pattern: "+friday deployment", Sort: store.ByRecency}, "msg_7 msg_6"},
		{"an excluded word", store.Search{Mode: store.FullText, Pattern: "friday -postponed", Conversations: []store.ConversationID{b.ID, a.ID}}, "msg_7"},
		{"a phrase", store.Search{Mode: store.FullText, Pattern: `"postponed to friday"`}, "msg_6"},
		{"nothing", store.Search{Mode: store.FullText, Pattern: "zeppelin"}, ""},
	} {
		want(t, c.what, f.find(t, c.q), c.ids)
	}
	nameless := f.conversation(t, "nameless")
	browse := lcmRow(t, llms.Calls("", llms.ToolCall{ID: "c9", Name: "browser", Arguments: `{"url":"zebra"}`}))
	f.append(t, nameless.ID, browse, row(llms.RoleUser, "zebra, meanwhile"), lcmRow(t, llms.Result("c9", "", "zebra found", false)))
	want(t, "a result that does not name its tool", f.find(t, store.Search{Mode: store.Regex, Pattern: "zebra", Tool: "browser"}), "msg_10 msg_8")
	kept := f.conversation(t, "of a host")
	flagged := func(r llms.Role, text string, flags store.Flag) store.NewMessage {
		m := row(r, text)
		m.Flags = flags
		return m
	}
	f.append(t, kept.ID, row(llms.RoleUser, "quokka: a prompt"),
		flagged(llms.RoleUser, "<environment>quokka</environment>", store.FlagSynthetic),
		flagged(llms.RoleSystem, "hook said quokka", store.FlagHidden),
		flagged(llms.RoleSystem, "quokka of an unknown type", store.FlagHidden|store.FlagUnknown),
		flagged(llms.RoleTool, "spilled output: quokka", store.FlagHidden),
		flagged(llms.RoleAssistant, "a sub-agent's quokka", store.FlagHidden),
		flagged(llms.RoleUser, "the host's summary of quokka", store.FlagHostSummary))
	want(t, "without bookkeeping", f.find(t, store.Search{Mode: store.Regex, Pattern: "quokka"}), "msg_17 msg_16 msg_15 msg_14 msg_11")
	want(t, "words without bookkeeping", f.find(t, store.Search{Mode: store.FullText, Pattern: "quokka", Sort: store.ByRecency}), "msg_17 msg_16 msg_15 msg_14 msg_11")
	want(t, "with bookkeeping", f.find(t, store.Search{Mode: store.Regex, Pattern: "quokka", Everything: true}),
		"msg_17 msg_16 msg_15 msg_14 msg_13 msg_12 msg_11")
	question := f.find(t, store.Search{Mode: store.FullText, Pattern: "What failed when we deployed?"})
	if question != "msg_2 msg_1" && question != "msg_1 msg_2" { // the message after a question may be its answer
		t.Errorf("a question found %q, want the earlier question and what came after it", question)
	}
	text, err := f.Text(t.Context(), store.ID{Message: 4})
	if err != nil || !strings.Contains(string(text), "marmalade") {
		t.Errorf("the text of a message is %q, %v", text, err)
	}
	attached, err := f.Attached(t.Context(), 4)
	want(t, "attached", fmt.Sprint(attached, err), fmt.Sprintf("[%s] <nil>", payload))
	holders, err := f.Holders(t.Context(), payload, nil, 5)
	want(t, "holders", fmt.Sprint(holders, err), "[msg_4] <nil>")
	holders, err = f.Holders(t.Context(), payload, []store.ConversationID{b.ID}, 5)
	want(t, "holders elsewhere", fmt.Sprint(holders, err), "[] <nil>")
	for _, bad := range []store.Search{{Mode: store.Regex, Pattern: "(", Limit: 1}, {Mode: store.Regex, Pattern: "x"}} {
		if _, err := f.Search(t.Context(), bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func lcmRow(t *testing.T, m llms.Message) store.NewMessage {
	t.Helper()
	b := must(wire.Encode(llms.FormatLCM, m))(t)
	r := row(m.Role, string(b))
	r.Format = llms.FormatLCM
	r.Calls, r.Results = store.Links(m)
	return r
}

// words makes text for patterns to match.
func words(rng *rand.Rand, n int) string {
	vocabulary := []string{"alpha", "beta", "Gamma", "delta_one", "epsilon.two", "zeta-3", "ETA", "42", "0x1f", "配置", "café", "\n", "error:", "done"}
	var all []string
	for range n {
		all = append(all, vocabulary[rng.IntN(len(vocabulary))])
	}
	return strings.Join(all, " ")
}

// testSearchComplete compares patterns with a plain loop over all texts, while messages are
// added.
func testSearchComplete(t *testing.T, f *fixture) {
	c := f.conversation(t, "complete")
	rng := rand.New(rand.NewPCG(1, 2))
	patterns := []string{"alpha beta", "(?i)gamma ETA", `delta_\w+ 42`, "配置 c", "epsilon.two zeta", "^alpha", "done$", "[0-9]+x", "(alpha|beta) (42|ETA)", `error:\s+done`, "nowhere"}
	var texts []string
	for range 4 {
		var ms []store.NewMessage
		for range 500 {
			texts = append(texts, words(rng, 1+rng.IntN(12)))
			ms = append(ms, row(llms.RoleUser, texts[len(texts)-1]))
		}
		f.append(t, c.ID, ms...)
		for _, p := range patterns {
			re := regexp.MustCompile(p)
			expected := 0
			newest := ""
			for i, text := range texts {
				if re.MatchString(text) {
					expected++
					newest = fmt.Sprintf("msg_%d", i+1)
				}
			}
			found := must(f.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: p, Limit: 1, CountTo: 1 << 30}))(t)
			want(t, fmt.Sprintf("matches of %s among %d", p, len(texts)), found.Matched, expected)
			want(t, "counted to the end", found.AtLeast, false)
			if expected > 0 {
				want(t, "the newest match of "+p, found.Hits[0].ID.String(), newest)
			}
		}
	}
}

func testSearchPages(t *testing.T, f *fixture) {
	c := f.conversation(t, "pages")
	f.fill(t, c.ID, 7)
	for _, q := range []store.Search{
		{Mode: store.Regex, Pattern: "message", Limit: 3},
		{Mode: store.FullText, Pattern: "message", Limit: 3},
		{Mode: store.FullText, Pattern: "message", Limit: 3, Sort: store.ByRecency},
	} {
		seen := map[store.ID]bool{}
		pages := 0
		for next := (&store.Cursor{}); next != nil; pages++ {
			q.After = *next
			found := must(f.Search(t.Context(), q))(t)
			for i, h := range found.Hits {
				if i == len(found.Hits)-1 && found.Next != nil {
					want(t, "the cursor behind the last hit", h.After, *found.Next)
				}
				if seen[h.ID] {
					t.Errorf("%s was returned twice", h.ID)
				}
				seen[h.ID] = true
			}
			next = found.Next
		}
		want(t, "pages", pages, 3)
		want(t, "hits on them", len(seen), 7)
	}
}

func testSearchReworded(t *testing.T, f *fixture) {
	c := f.conversation(t, "reworded")
	f.fill(t, c.ID, 4)
	s := f.fold(t, c.ID, 0, 2, "about walnuts")
	want(t, "the first wording", f.find(t, store.Search{Mode: store.FullText, Pattern: "walnuts", Summaries: true}), string(s.ID))
	f.update(t, c.ID, func(ctx context.Context, w store.Writer) error {
		_, err := w.Reword(ctx, s.ID, wording("about almonds"))
		return err
	})
	want(t, "the second", f.find(t, store.Search{Mode: store.FullText, Pattern: "almonds", Summaries: true}), string(s.ID))
	want(t, "the first is gone", f.find(t, store.Search{Mode: store.FullText, Pattern: "walnuts", Summaries: true}), "")
}
