package enginetest

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/backendtest"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Between two folds, each context begins with the bytes of the one before it. The
// engine has its defaults, apart from the budget, and is sometimes opened anew.
func TestThePrefixIsTheSameBetweenFolds(t *testing.T) {
	folds, kept := 0, 0
	backendtest.Each(t, func(t *testing.T, b backendtest.Backend) { prefixStays(t, b, &folds, &kept) })
	if folds == 0 || kept < 32*folds { // 39 to 63 were seen; 24 to one without the low threshold
		t.Errorf("%d folds, %d prefixes kept", folds, kept)
	}
}

func prefixStays(t *testing.T, b backendtest.Backend, folds, kept *int) {
	db, _ := b.New(t, nil)
	sessions := 0
	rapid.Check(t, func(rt *rapid.T) {
		sessions++
		key := fmt.Sprint("prefix ", sessions)
		budget := rapid.IntRange(24_000, 40_000).Draw(rt, "budget")
		var engine *lcm.Engine
		var session *lcm.Session
		start := func() {
			if engine != nil {
				if err := engine.Close(t.Context()); err != nil {
					rt.Fatal(err)
				}
			}
			var err error
			if engine, err = lcm.New(db, lcm.WithBudget(budget)); err != nil {
				rt.Fatal(err)
			}
			session = engine.Session(key)
		}
		start()
		defer func() { engine.Close(t.Context()) }()
		var before [][]byte
		var summaries int64
		images := 3 // as many as fit beside the largest view
		for n := range rapid.IntRange(20, 60).Draw(rt, "requests") {
			if rapid.IntRange(0, 15).Draw(rt, "restart") == 0 {
				start()
			}
			if err := session.Append(t.Context(), spoken(rt, n, &images)...); err != nil {
				rt.Fatal(err)
			}
			grown, err := session.Conversation(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			if err := engine.Settle(t.Context()); err != nil {
				rt.Fatal(err)
			}
			view, err := session.Context(t.Context(), 0)
			if err != nil {
				rt.Fatal(err)
			}
			c, err := session.Conversation(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			sent := encoded(rt, view.Messages)
			switch {
			case c.Summaries > summaries:
				*folds++
				if soft := int64(budget) * 3 / 4; int64(grown.ViewTokens) < soft && grown.Summaries == summaries {
					rt.Fatalf("request %d: folded a view of %d tokens, the budget is %d", n, grown.ViewTokens, budget)
				}
			default:
				*kept++
				for i := range before {
					if i >= len(sent) || !bytes.Equal(before[i], sent[i]) {
						rt.Fatalf("request %d: message %d of %d was changed without a fold", n, i, len(before))
					}
				}
			}
			before, summaries = sent, c.Summaries
		}
	})
}

// spoken draws the messages between two requests: a prompt or the results of
// calls, a few times with an image.
func spoken(rt *rapid.T, n int, images *int) []llms.Message {
	size := func(label string, most int) string {
		b := fmt.Sprint(n, " ", label, " ")
		for k := rapid.IntRange(0, most).Draw(rt, label); len(b) < k; {
			b += prose(n + len(b))
		}
		return b
	}
	if rapid.IntRange(0, 2).Draw(rt, "prompt") == 0 {
		return []llms.Message{llms.User(size("prompt", 2000)), llms.Assistant(size("answer", 4000)), llms.User("and?")}
	}
	a, b := fmt.Sprint("a", n), fmt.Sprint("b", n)
	calls := llms.Calls(size("text", 100), llms.ToolCall{ID: a, Name: "sh", Arguments: "{}"}, llms.ToolCall{ID: b, Name: "sh", Arguments: "{}"})
	shot := llms.Result(b, "sh", size("output", 5000), false)
	if *images > 0 && rapid.IntRange(0, 11).Draw(rt, "image") == 0 {
		*images--
		image := llms.Part{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%d", n)}}
		shot.Parts[0].Result.Output = append(shot.Parts[0].Result.Output, image)
	}
	return []llms.Message{calls, llms.Result(a, "sh", size("output", 5000), false), shot}
}

// encoded returns the messages as they are sent.
func encoded(rt *rapid.T, ms []llms.Message) (all [][]byte) {
	for _, m := range llms.WithoutRecords(ms) {
		data, err := wire.Encode(llms.FormatLCM, m)
		if err != nil {
			rt.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}
