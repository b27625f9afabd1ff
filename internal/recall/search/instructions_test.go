package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/search/segment"
)

// A question that asks for work finds the user's standing instructions although
// it shares no word with them; another question does not.
func TestInstructions(t *testing.T) {
	texts := []string{
		"Always use tabs and never leave trailing blanks.", // the user's
		"I always forget the password.",
		"Always look on the bright side.", // the assistant's
		"The parser reads one line after the other.",
		"The weather was fine in the morning.",
	}
	var docs []segment.Doc
	for i, text := range texts {
		role := uint8(1)
		if i == 2 {
			role = 2
		}
		docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: int64(i + 1), Role: role, Text: []byte(text)})
	}
	ix, fetch := indexOf(t, docs)
	for query, want := range map[string][]int64{
		"write a parser":               {4, 1},
		"which parser did we write":    {4},
		"+parser please":               {4}, // a required word is required
		"could you explain the parser": {4, 1},
	} {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, h := range res.Hits {
			got = append(got, h.ID)
			if h.Instruction != (h.ID == 1) || h.Matched != (h.ID == 4) {
				t.Errorf("%s: %+v", query, h)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", query, got, want)
		}
		if res.Matched != 1 || res.Ranked != 1 {
			t.Errorf("%s: %d matched, %d ranked, want 1", query, res.Matched, res.Ranked)
		}
	}
}

// Instructions in the words that people use are among the first ten for a
// question that asks for work, after the eight messages that have its words. The
// other messages of the user have words of instructions too.
func TestInstructionsInManyWords(t *testing.T) {
	cases := [][2]string{
		{"Always use tabs in this repo.", "write a helper that trims strings"},
		{"Never ship anything on Fridays, please.", "can you roll out the billing service"},
		{"From now on answer in German.", "explain how the cache works"},
		{"I prefer short answers without bullet lists.", "summarise the meeting of the board"},
		{"Going forward, put the ticket number into every title.", "create a branch for the login page"},
		{"Every time you touch the schema, bump the version.", "add a column for the phone number"},
		{"Remember to run the linter before you hand something over.", "fix the crash in the importer"},
		{"As a rule, functions stay under forty lines.", "refactor the payment code"},
		{"Make sure that each endpoint has a test.", "implement the export to CSV"},
		{"Whenever I ask about prices, give them in Swiss francs.", "how should we bill the hosting"},
		{"Don't ever touch the vendor directory.", "could you update the parser"},
		{"do not ever put secrets into the log", "help me with the debug output"},
		{"We prefer composition over inheritance.", "design the class for the invoice"},
		{"Immer auf Deutsch antworten.", "please explain the error"},
		{"In Zukunft bitte ohne Emojis.", "draft a mail to the customers"},
		{"Ab jetzt nur noch metrische Einheiten.", "prepare the list of parts"},
		{"I'd prefer it if you named the sources of each claim.", "give me an overview of the market"},
		{"hey, small thing: when you show numbers always round them to two digits, thanks!", "show the revenue by month"},
		{"Each time you finish a step, write one line into the diary.", "let's migrate the cluster"},
		{"Toujours vouvoyer le client, jamais de tutoiement.", "write the reply to madame Girard"},
	}
	fill := []string{
		"now the build is green again", "I always forget the password", "she has never been there", "it took some time to read the report",
		"every test passes", "do you remember the trip to Bern?", "we looked at each log line", "I am sure that it was the cable",
	}
	for _, w := range strings.Fields("lamp river stone ladder window garden bottle carpet mirror hammer candle basket pencil saddle barrel copper") {
		fill = append(fill, "a "+w+" stood near the wall", "he bought the "+w+" in town", "the "+w+" was sold")
	}
	const instruction = 138
	for _, c := range cases {
		var docs []segment.Doc
		for id := int64(1); id <= 400; id++ {
			text := fmt.Sprintf("%s, note %d", fill[id%int64(len(fill))], id)
			switch {
			case id == instruction:
				text = c[0]
			case id%50 == 3:
				text = "something else about " + c[1]
			}
			docs = append(docs, segment.Doc{ID: id, Conversation: 1, Role: 1, Time: id * 60_000, Text: []byte(text)})
		}
		ix, fetch := indexOf(t, docs)
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, c[1]), Limit: 10}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(res.Hits, func(h Hit) bool { return h.ID == instruction }) {
			t.Errorf("%s: %q is not among the first ten", c[1], c[0])
		}
	}
}
