package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// termsOf are the terms of a question in a scope that has some of its words.
func termsOf(t *testing.T, question, has string, also map[string][]string) []Term {
	t.Helper()
	var out []Term
	for _, term := range parsed(t, question).terms {
		n := 0
		if strings.Contains(" "+has+" ", " "+term.typed+" ") {
			n = 3
		}
		out = append(out, Term{Word: term.typed, Passages: n, Also: also[term.typed], Guessed: len(also[term.typed]) > 0})
	}
	return out
}

func TestAbsent(t *testing.T) {
	for _, c := range []struct {
		question, has string
		also          map[string][]string
		want          []string
		all           bool
	}{
		{"Why did we put Cassandra behind the parser?", "parser", nil, []string{"Cassandra"}, false},
		{"Did we ever use Cassandra?", "", nil, []string{"Cassandra"}, true},
		{"did we ever use cassandra", "", nil, []string{"cassandra"}, true},
		{"Cassandra Zookeeper Hadoop Flink", "", nil, []string{"Cassandra", "Zookeeper", "Hadoop", "Flink"}, true},
		{"why is cassandra behind the parser", "parser", nil, []string{"cassandra"}, false},
		{"how do we get the parser into dropbox", "parser", map[string][]string{"dropbox": {"drop", "box"}}, []string{"dropbox"}, false},
		{"which planter does the parser read", "parser", map[string][]string{"planter": {"plan"}}, []string{"planter"}, false},
		{"is stripe behind the parser", "parser", map[string][]string{"stripe": {"strip"}}, []string{"stripe"}, false},
		{"although somebody chose the parser at night", "parser", nil, nil, false}, // everyday words
		{"Who tends the shrubs of the neighbour's lawn?", "", nil, nil, false},     // in other words
		{"Why Did The Cassandra Parser Stop Working?", "parser", nil, []string{"Cassandra"}, false},
		{"Which FooBar does the parser read?", "parser foo", nil, []string{"FooBar"}, false},
		{"Which FooBar does the parser read?", "parser foo bar", nil, nil, false}, // written apart
		{"Where is src/Zebra/parser.go?", "src parser go", nil, []string{"Zebra"}, false},
		{"What happened in October at 14:30?", "", nil, nil, false}, // dates are no content
		{"What did Kaczmarek say?", "", map[string][]string{"kaczmarek": {"kaczmarczyk"}}, []string{"Kaczmarek"}, true},
		{"What did Kaczmarek say?", "", map[string][]string{"kaczmarek": {"kaczmerek"}}, nil, false}, // misspelt
		{"What did Cora say?", "", map[string][]string{"cora": {"core"}}, []string{"Cora"}, true},    // a letter away by chance
		{"What did Croa say?", "", map[string][]string{"croa": {"cora"}}, nil, false},
		{"Wann kam der Springbrunnen in den Park?", "park", nil, []string{"Springbrunnen"}, false},
		{"Weshalb tropfte der Springbrunnen im Pavillon so kläglich?", "park", nil, nil, false}, // in other words
		{"Was war mit dem Springbrunnen?", "", nil, []string{"Springbrunnen"}, true},
		{"Was war mit den Springbrunnen?", "", map[string][]string{"springbrunnen": {"spring", "brunnen"}}, nil, false}, // a compound
		{"cassandra -zookeeper", "cassandra", nil, nil, false},
	} {
		got := Absent(c.question, termsOf(t, c.question, c.has, c.also))
		if diff := cmp.Diff(Absence{c.want, c.all}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.question, diff)
		}
	}
}

// A word counts as absent where only documents have it that the search does not see, and
// is then looked for in other spellings.
func TestHiddenWordsAreAbsent(t *testing.T) {
	ix, fetch := indexOf(t, []segment.Doc{
		{ID: 1, Conversation: 1, Text: []byte("why did we choose databse shards")}, {ID: 2, Conversation: 1, Text: []byte("the database is slow")},
	})
	req := Request{Query: parsed(t, "databse shards"), Filter: Filter{Hidden: func(id int64) bool { return id == 1 }}}
	res, err := ix.Search(t.Context(), req, fetch)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Term{{Word: "databse", Also: []string{"database"}, Guessed: true}, {Word: "shards"}}, res.Terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}
