package lookup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// An answer names the words that no text of its scope has, and then shows little.
func TestGrepNamesAbsentWords(t *testing.T) {
	f := newFixture(t)
	c, elsewhere := f.open("here"), f.open("elsewhere")
	for i := range 9 {
		f.say(c, llms.User(fmt.Sprintf("the parser of section %d reads tables, terr after a redirect, and the Bordsteinkante", i)))
	}
	f.say(elsewhere, llms.User("Cassandra holds the tables that the parser reads"))
	in := func(where recall.Where) func(string) recall.GrepRequest {
		return func(q string) recall.GrepRequest {
			return recall.GrepRequest{Pattern: q, Mode: "full_text", OrWords: true, Where: where}
		}
	}
	here, all := in(recall.Where{ConversationID: c}), in(recall.Where{AllConversations: true})
	question := here("Why does Cassandra read the tables of the parser?")
	withMode := question
	withMode.Mode = ""
	since := question
	since.Since = "2026-01-01"
	regex := question
	regex.Mode, regex.OrWords = "regex", false
	for _, x := range []struct {
		r      recall.GrepRequest
		absent string
		shown  int
	}{
		{question, "Cassandra", 3},
		{withMode, "Cassandra", 3},
		{here("Did we ever use Cassandra?"), "Cassandra", 0},
		{here("Cassandra"), "Cassandra", 0},
		{here("Wie hoch ist der Bordstein?"), "", 9},                   // in a compound
		{here("which redis does the parser read"), "redis", 3},         // not in "redirect"
		{here("which terraform does the parser read"), "terraform", 3}, // nor in "terr"
		{since, "", 9}, // older messages may have it
		{regex, "", 0},
		{all("Why does Cassandra read the tables of the parser?"), "", 10},
	} {
		a := f.grep(x.r)
		if got := strings.Join(a.NotInRecord, " "); got != x.absent || len(a.Matches) != x.shown {
			t.Errorf("%s %s: absent %q, %d matches; want %q, %d", x.r.Pattern, x.r.Mode, got, len(a.Matches), x.absent, x.shown)
		}
		if first, _, _ := strings.Cut(a.Text(), "\n"); x.absent != "" && first != "not in the record: "+x.absent {
			t.Errorf("%s: the answer begins with %q", x.r.Pattern, first)
		}
	}
	// The cursor goes on behind the three, and the page says the same of the word.
	a := f.grep(question)
	question.Cursor = a.NextCursor
	if rest := f.grep(question); len(rest.Matches) != 6 || strings.Join(rest.NotInRecord, " ") != "Cassandra" {
		t.Errorf("the second page has %d matches, absent %q", len(rest.Matches), rest.NotInRecord)
	}
	// A search that goes past its scope finds the word in other conversations, if any has it.
	for q, want := range map[string]string{"Did we ever use Cassandra?": "", "Why does Cassandra read the tables of the parser?": "", "Did we ever use Zookeeper?": "Zookeeper"} {
		a := f.grep(in(recall.Where{Current: c, Widen: true})(q))
		if got := strings.Join(a.NotInRecord, " "); got != want || (a.Widened != nil) == (want != "") {
			t.Errorf("%s: absent %q, widened %v", q, got, a.Widened)
		}
	}
}
