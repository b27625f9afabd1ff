package reminder

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestConclusionIsCited: a prompt with the words of an old request gets the reply to that
// request, and the line shows the words that answer.
func TestConclusionIsCited(t *testing.T) {
	call := func(id string) []llms.Message {
		return []llms.Message{llms.Calls("", llms.ToolCall{ID: id, Name: "Bash", Arguments: `{"command":"wrk -c 40 http://localhost"}`}),
			llms.Result(id, "Bash", "2,100 in 30 s", false)}
	}
	work := []llms.Message{}
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		work = append(work, call(id)...)
	}
	filler := strings.Repeat("The graph of the day before looks much the same as the one of last week. ", 5)
	for name, test := range map[string]struct {
		said       []llms.Message
		prompt     string
		want, none string
	}{
		"the last reply of the turn": {
			said:   append(append([]llms.Message{llms.User("look into throttling for the tile server")}, work...), llms.Assistant("40 requests a second for each key, with a burst of 80.")),
			prompt: "what did we decide about throttling the tile server?",
			want:   `assistant, asked "look into throttling for the tile server": "40 requests a second`,
		},
		"the user's choice": {
			said: []llms.Message{llms.User("which geoid shall the height converter use?"), llms.Assistant("EGM96 is small, EGM2008 exact. Which one?"),
				llms.User("EGM96 it is"), llms.Assistant("done")},
			prompt: "which geoid did we choose for the height converter?",
			want:   `"EGM96 it is"`,
		},
		"the user's order": {
			said:   []llms.Message{llms.User("give the height converter the geoid EGM96"), llms.Assistant("Done.")},
			prompt: "which geoid did we choose for the height converter?",
			want:   `user: "give the height converter the geoid EGM96"`,
		},
		"the user's word on a remark": {
			said: []llms.Message{llms.User("what blocks the tile server?"), llms.Assistant("Its firewall. Somebody at the hosting company has to open the port."),
				llms.User("write to Mirela Stancu, not to their queue"), llms.Assistant("Ok.")},
			prompt: "who was our contact at the hosting company for the firewall?",
			want:   `user: "write to Mirela Stancu, not to their queue"`,
		},
		"the user's decision to its end": {
			said: []llms.Message{llms.User("The height converter rounds to whole centimetres from now on, it never cuts off, and where the geoid is missing it uses the mean of the four neighbours and flags the value with Q7."),
				llms.Assistant("I changed the height converter and its tests.")},
			prompt: "which flag did we choose for the height converter where the geoid is missing?",
			want:   "flags the value with Q7",
		},
		"another form of a German word": {
			said:   []llms.Message{llms.User("Beim Rabatt weicht die Summe ab. Wo wird gerundet?"), llms.Assistant("Kaufmännisch auf Positionsebene, nicht erst bei der Summe.")},
			prompt: "wie hatten wir das mit dem Runden bei den Rabatten festgelegt?",
			want:   "Positionsebene",
		},
		"a request that settles nothing": {
			said: []llms.Message{llms.User("which geoid shall the height converter use?"), llms.Assistant("EGM2008, because the harbour needs centimetres."),
				llms.User("and now write the changelog"), llms.Assistant("done")},
			prompt: "which geoid did we choose for the height converter?",
			want:   "EGM2008, because", none: "changelog",
		},
		"the words behind those of the question": {
			said: []llms.Message{llms.User("please have a look"), llms.Assistant(filler + "About throttling on the tile server, which we discussed at length with Ines and with the two people from the network team on Friday: " +
				"it is 40 requests a second for each key. " + filler)},
			prompt: "what did we decide about throttling the tile server?",
			want:   "40 requests a second",
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := record(t, history{})
			e, err := lcm.New(db, lcm.WithoutBackground())
			if err != nil {
				t.Fatal(err)
			}
			here := store.Project{Root: "/p"}
			if err := e.Session("claude:a", lcm.WithProject(here), lcm.WithAgent("claude")).Append(t.Context(), test.said...); err != nil {
				t.Fatal(err)
			}
			lines, err := For(t.Context(), db, test.prompt, Options{Project: here, Session: "claude:b"})
			if err != nil {
				t.Fatal(err)
			}
			if block := Block(lines); !strings.Contains(block, test.want) || test.none != "" && strings.Contains(block, test.none) {
				t.Error(block)
			}
		})
	}
}
