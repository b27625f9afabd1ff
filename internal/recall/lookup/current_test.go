package lookup_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// TestLaterStatementLeads: what a later message changed is marked and comes behind it, also
// where the later one has none of the question's words. A question about the past gets the
// older one first, and a search by time or by an expression stays as it is.
func TestLaterStatementLeads(t *testing.T) {
	f := newFixture(t)
	c := f.open("decisions")
	ids := f.say(c,
		llms.User("The gateway listens on port 8443."), llms.Assistant("Noted."),
		llms.User("For the queue between the importer and the writer we take RabbitMQ."), llms.Assistant("Each importer gets a RabbitMQ queue."),
		llms.User("The admin page listens on port 9000."), llms.Assistant("Noted."),
		llms.User("The gateway listens on port 7443 now."), llms.Assistant("Changed."),
		llms.User("Forget what I said about RabbitMQ, we go with NATS."), llms.Assistant("Replaced."))
	for _, test := range []struct {
		request      recall.GrepRequest
		first, later int // of ids: the first result, and by which one the older is superseded
		older        int
	}{
		{recall.GrepRequest{Pattern: "which port does the gateway listen on?", Mode: store.FullText}, 6, 6, 0},
		{recall.GrepRequest{Pattern: "which queue is between the importer and the writer?", Mode: store.FullText}, 8, 8, 2},
		{recall.GrepRequest{Pattern: "which port did the gateway listen on at first?", Mode: store.FullText}, 0, 6, 0},
		{recall.GrepRequest{Pattern: "gateway listens", OrWords: true}, 6, 6, 0},
		{recall.GrepRequest{Pattern: "which port does the gateway listen on?", Mode: store.FullText, Sort: store.ByRecency}, 6, -1, 0},
		{recall.GrepRequest{Pattern: `gateway .* port`, Mode: store.Regex}, 6, -1, 0},
	} {
		test.request.Where = recall.Where{Current: c}
		a, err := f.Grep(t.Context(), test.request)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range a.Matches {
			if i == 0 && m.ID.Message != ids[test.first] {
				t.Errorf("%s: the first match is %s, want %s\n%s", test.request.Pattern, m.ID, ids[test.first], a.Text())
			}
			marked := m.SupersededBy != nil
			if want := test.later >= 0 && m.ID.Message == ids[test.older]; want && (!marked || m.SupersededBy.ID != ids[test.later]) {
				t.Errorf("%s: %s is not superseded by %s\n%s", test.request.Pattern, m.ID, ids[test.later], a.Text())
			} else if !want && marked && m.ID.Message != ids[3] {
				t.Errorf("%s: %s is %s", test.request.Pattern, m.ID, m.SupersededBy)
			}
		}
	}
}

// TestNamesOfSigns: a text of signs, whose words cannot be searched for, does not make a
// search fail.
func TestNamesOfSigns(t *testing.T) {
	f := newFixture(t)
	c := f.open("signs")
	f.say(c, llms.User("please restart the gateway && tell me"), llms.User("+Gateway || // "+strings.Repeat("GatewayX", 2000)))
	for _, pattern := range []string{"gateway", "restart gateway"} {
		if _, err := f.Grep(t.Context(), recall.GrepRequest{Pattern: pattern, Mode: store.FullText, Where: recall.Where{Current: c}}); err != nil {
			t.Error(err)
		}
	}
}
