package supersede

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestBy: an older statement and a later one, and whether the later one changes it.
func TestBy(t *testing.T) {
	for _, test := range []struct {
		question, older, later string
		want                   bool
	}{
		{"which port does the proxy use?", "The proxy listens on port 8443.", "The proxy listens on port 9443 now.", true},
		{"which port does the proxy use?", "Let's run the proxy on port 8443.", "Use 9443 for the proxy instead of 8443, the scanner blocks it.", true},
		{"where do we keep the sessions?", "We decided to keep sessions in Redis.", "Forget Redis for the sessions, we go with PostgreSQL.", true},
		{"what is the upload timeout?", "The upload timeout is 20 s.", "The upload timeout is 30 s.", true},
		{"how do we name branches?", "Branches are called feature/NAME.", "From now on branches are called work/NAME.", true},
		{"which font is used in the invoices?", "The invoices use Inter.", "We changed the invoices from Inter to Source Sans.", true},
		{"Welchen Port nimmt der Proxy?", "Der Proxy läuft auf Port 8443.", "Doch nicht 8443, der Proxy läuft jetzt auf Port 9443.", true},
		{"which queue do we use?", "The queue is RabbitMQ.", "RabbitMQ is too heavy for us. A table of the database will do.", true},
		{"Wo speichern wir die Sitzungen?", "Die Sitzungen speichern wir in Redis.", "Die Sitzungen speichern wir stattdessen in PostgreSQL.", true},

		{"how are images tagged?", "Images are tagged with the short git hash.", "Images are tagged with the release date and a counter, like 2026.06.1.", true},
		{"how often is the feed polled?", "The feed is polled every 10 minutes, that will do.", "The feed is polled every 20 minutes, their support asked for it.", true},
		{"what ships the logs?", "Logs are shipped with promtail.", "promtail is too old. Vector does the shipping.", true},

		{"what is the oldest Go version?", "The oldest Go version is 1.24.", "The oldest Go version goes up to 1.26.", true},
		{"what is the unit of the tank level?", "The unit of the tank level is percent.", "The unit of the tank level becomes litres.", true},
		{"how many guests may a member bring?", "Members may bring 2 guests.", "Let members bring 4 guests.", true},

		{"which pins do the relays use?", "Das Relais des Mischers für Auf hängt an GPIO 25.", "Das Relais des Mischers für Zu hängt an GPIO 26.", false},
		{"how is the linter job set up?", "The linter job uses version 2.1.", "The linter job may warn about complexity.", false},
		{"what do we know of updates?", "Updates are signed with a key.", "Updates are loaded between 10 and 16 o'clock.", false},
		{"what about Anna?", "Anna: It's a great class and I like it.", "Anna: It's made a huge difference to me. Thanks!", false},
		{"which port does the proxy use?", "The proxy listens on port 8443 in staging.", "The proxy listens on port 9443 in production.", false},
		{"what is the timeout?", "The timeout of the billing service is 20 s.", "The timeout of the search service is 30 s.", false},
		{"which port does the proxy use?", "The proxy listens on port 8443.", "As said, the proxy listens on port 8443 now.", false},
		{"which port does the proxy use?", "The proxy listens on port 8443.", "Could the proxy use 9443 instead?", false},
		{"which port does the proxy use?", "The proxy listens on port 8443.", "The proxy also listens on port 9443 for metrics.", false},
		{"what is the offset of the gauges?", "The offset of Husum is 2.31 m.", "The offset of Borkum is 1.68 m.", false},
		{"where does Alice live?", "Alice lives in Berlin with her cat.", "Alice lives in Berlin now and works at Siemens.", false},
		{"which port does the proxy of the harbour office use?", "The proxy of Hamburg was restarted.", "Forget Hamburg, the proxy runs in Kiel.", false},
		{"what do we log?", "We log the request id.", "Actually the build is green again.", false},
		{"which port does the proxy use?", "The proxy listens on port 8443.", "The proxy now writes its log to /var/log/proxy.log.", false},
	} {
		at := time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
		got := By(test.question, []Statement{{Text: test.later, Time: at.Add(time.Hour)}, {Text: test.older, Time: at}})
		if (got[1] == 0) != test.want || got[0] != -1 {
			t.Errorf("%q, then %q: %v, want %v", test.older, test.later, got, test.want)
		}
	}
}

// TestHints: every sentence that reverses matches has a hint.
func TestHints(t *testing.T) {
	for _, words := range []string{"no longer", "any more", "from today", "leaving", "switched the proxy to", "moved off", "that's wrong", "on second thought", "turns out", "is now", "now at", "cut it to", "let's use",
		"we will use it", "won't", "not 1 but", "doch nur", "keine mehr", "ab sofort", "steigen auf x um", "andern wir", "war falsch", "ne garde plus", "a la place", "d'ora in poi", "nao mais", "改为", "вместо", "대신"} {
		if !reverses().MatchString(words) || !mayReverse(words) {
			t.Errorf("%q: %v, %v", words, reverses().MatchString(words), mayReverse(words))
		}
	}
}

// TestOrder: what leads without a mark, and the past.
func TestOrder(t *testing.T) {
	said := []Statement{
		{Text: "The backups of the database are kept for 14 days.", Time: time.Unix(1, 0), User: true},
		{Text: "The auditors want more of the database backups. Make it 30 days.", Time: time.Unix(2, 0), User: true},
		{Text: "quota for invoice attachments: 25 MB each", Time: time.Unix(5, 0), User: true},
		{Text: "Raise the quota for invoice attachments to 40 MB, the archive needs it.", Time: time.Unix(6, 0), User: true},
		{Text: "The quota for invoice attachments is 99 MB.", Time: time.Unix(7, 0)}, // an agent's reply
		{Text: "Jobs go through NATS now.", Time: time.Unix(3, 0), User: true},
		{Text: "The queue of the jobs is RabbitMQ.", Time: time.Unix(0, 0), User: true},
	}
	for question, want := range map[string][]int{
		"how long are the database backups kept?":    {1, 0, 2, 3, 4, 5, 6},
		"which queue did the jobs have before NATS?": {6, 0, 1, 2, 3, 4, 5},
		"what is the quota for invoice attachments?": {0, 1, 3, 2, 4, 5, 6},
		"when was the quota for attachments raised?": {0, 1, 2, 3, 4, 5, 6},
	} {
		if order, by := Order(question, said); !slices.Equal(order, want) || slices.Max(by) >= 0 {
			t.Errorf("%s: %v, %v", question, order, by)
		}
	}
}

func TestAboutPast(t *testing.T) {
	for question, want := range map[string]bool{
		"what was it first?": true, "which port did it use at first?": true, "what did we use before Vault?": true, "Was war zuerst geplant?": true,
		"which port does the primary database use?": false, "how old is the backup?": false, "what holds until Friday?": false,
	} {
		if AboutPast(question) != want {
			t.Errorf("%s: %v", question, !want)
		}
	}
}

// TestOddTexts: texts of signs, long words and broken letters.
func TestOddTexts(t *testing.T) {
	for _, text := range []string{"", "&& || //", "`", "-", "a", "ä", "\xff\xfe", strings.Repeat("x", 9000), strings.Repeat("no longer ", 5000), "`` . '' ::", "# @ _"} {
		said := []Statement{{Text: text, Time: time.Unix(1, 0)}, {Text: "restart the gateway " + text, Time: time.Unix(2, 0), User: true}}
		By("restart the gateway", said)
		for _, n := range Names("restart the gateway", said) {
			if !strings.ContainsFunc(n, unicode.IsLetter) || len(n) > longWord {
				t.Errorf("%.20q has the name %.20q", text, n)
			}
		}
	}
}

// TestSeries: statements that are alike many times are a list.
func TestSeries(t *testing.T) {
	var list []Statement
	for i := range 7 {
		list = append(list, Statement{Text: fmt.Sprintf("The error rate of the gateway was %d percent.", i), Time: time.Unix(int64(i), 0)})
	}
	if by := By("what about the gateway?", list); slices.Max(by) >= 0 {
		t.Errorf("%v", by)
	}
}

// TestUserIsCorrectedByTheUser: what an agent says later does not change what the user said.
func TestUserIsCorrectedByTheUser(t *testing.T) {
	said := []Statement{{Text: "The proxy listens on port 8443.", Time: time.Unix(1, 0), User: true}, {Text: "The proxy listens on port 9443 now.", Time: time.Unix(2, 0)}}
	if by := By("which port does the proxy use?", said); by[0] >= 0 {
		t.Errorf("%v", by)
	}
}
