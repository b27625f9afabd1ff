//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/strictapi"
)

// longRun is one turn of many steps that does not fit the model's window.
type longRun struct {
	name   string
	long   bool // takes minutes: left out unless longEnv is set
	host   agent
	logs   int // of 28 kB each, which are seven thousand tokens
	budget int
	flags  []string
	most   float64 // input cost through lcm, in units of the cost without it
}

// longEnv adds the runs that take minutes.
const longEnv = "LCM_E2E_LONG"

var longRuns = []longRun{
	{"claude-60", false, claudeAgent{}, 60, 100_000, []string{"--model", "claude-sonnet-4-6"}, 1.1},
	{"claude-million", true, claudeAgent{}, 160, 100_000, []string{"--model", "claude-opus-4-8[1m]"}, 0.5},
	{"codex", false, codexAgent{}, 90, 120_000, nil, 1.1},
	{"opencode", true, opencodeAgent{}, 90, 120_000, nil, 1.1},
}

// TestRunLong plays long turns without lcm and with it.
func TestRunLong(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	for _, r := range longRuns {
		t.Run(r.name, func(t *testing.T) {
			if r.long && os.Getenv(longEnv) == "" {
				t.Skip(longEnv + " is not set")
			}
			var plain, through strictapi.Totals
			t.Run("plain", func(t *testing.T) { plain = r.plain(t) })
			if os.Getenv(plainEnv) != "" || t.Failed() {
				return
			}
			t.Run("lcm", func(t *testing.T) { through = r.through(t) })
			if t.Failed() {
				return
			}
			t.Logf("cost %.0f, without lcm %.0f: %.2f", through.Cost, plain.Cost, through.Cost/plain.Cost)
			if through.Cost > r.most*plain.Cost {
				t.Errorf("the cost is %.2f of that without lcm, more than %.2f", through.Cost/plain.Cost, r.most)
			}
		})
	}
}

func (r longRun) play(t *testing.T, wrap []string) (*runBed, outcome) {
	t.Helper()
	b := newRunBed(t, r.host, wrap, strictapi.Options{})
	b.logs(r.logs, 28_000)
	b.flags = r.flags
	o := b.ask(fmt.Sprintf("Read the logs, then say what opens the harbour gate. play:recall%d", r.logs))
	t.Logf("%d %q", o.Code, o.Answer)
	// opencode ends so after the API has refused a request as too long.
	if o.Code != 0 && (wrap != nil || r.host != opencodeAgent{}) {
		t.Fatalf("the host failed: %s", tail(o.log))
	}
	return b, o
}

// plain checks that without lcm the host compacts and the early fact is gone.
func (r longRun) plain(t *testing.T) strictapi.Totals {
	b, o := r.play(t, nil)
	sum := b.totals()
	if sum.Compactions == 0 || o.Answer != "NOT FOUND" {
		t.Errorf("without lcm: %d compactions, answer %q", sum.Compactions, o.Answer)
	}
	for _, refused := range sum.Refused {
		if !strings.Contains(refused, "prompt is too long") {
			t.Errorf("without lcm a request is refused: %s", refused)
		}
	}
	return sum
}

func (r longRun) through(t *testing.T) strictapi.Totals {
	b, o := r.play(t, proxied(r.budget))
	sum := b.totals()
	b.valid()
	if sum.Compactions > 0 || sum.Largest > r.budget {
		t.Errorf("%d compactions upstream, largest request %d tokens of %d", sum.Compactions, sum.Largest, r.budget)
	}
	if o.Answer != "The gate opens with "+needle+", says lcm_grep." {
		t.Errorf("the early fact is not recalled: %q", o.Answer)
	}
	checkCache(t, b.api.Records())
	b.sameDigest()
	return sum
}

// checkCache checks that a request that is not shorter than the one before reads
// all of that one from the provider's cache.
func checkCache(t *testing.T, records []strictapi.Record) {
	t.Helper()
	folds, before := 0, strictapi.Record{}
	for i, r := range records {
		if r.Kind != strictapi.Main || r.Refused != "" || r.Fault != 0 || r.Agent != "" {
			continue
		}
		if r.Tokens < before.Tokens {
			folds++
		} else if r.Read != before.Prefix {
			t.Errorf("request %d (step %d) reads %d tokens from the cache, which holds %d of the request before", i, r.Step, r.Read, before.Prefix)
		}
		before = r
	}
	t.Logf("%d folds", folds)
}

// sameDigest checks that the record has what a fresh import of the same
// transcripts has.
func (b *runBed) sameDigest() {
	b.Helper()
	fresh := filepath.Join(b.home, "fresh.db")
	b.Log(b.run(b.lcm, "import", b.agent.name(), "--db", fresh))
	got, want := b.digest(), b.digest("--db", fresh)
	if got != want || got == "" {
		if b.agent.name() != "opencode" {
			b.Errorf("the digest is %s, that of a fresh import %s", got, want)
		}
		b.compare(filepath.Join(b.home, ".local", "share", "lcm", "lcm.db"), fresh)
	}
}

// writtenAgain are the parts of opencode's rows that it changes later: the title of a
// session, when the model has found one, and the files that a prompt has changed, at the
// end of its turn. A run may record a row before and after the change; a fresh import
// finds the changed one.
var writtenAgain = regexp.MustCompile(`"title":"[^"]*"|,"summary":\{"diffs":\[\]\}`)

// compare reports the messages in which two databases differ.
func (b *runBed) compare(one, other string) {
	b.Helper()
	x, y := b.messages(one), b.messages(other)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			b.Errorf("only the fresh import has message %d: %.600s", i, y[i])
		case i >= len(y):
			b.Errorf("only the run has message %d: %.600s", i, x[i])
		case x[i] != y[i]:
			b.Errorf("message %d is\n%.1500s\nand of a fresh import\n%.1500s", i, x[i], y[i])
		}
	}
}

// messages are the messages of a database and their records, in their order.
func (b *runBed) messages(path string) []string {
	b.Helper()
	db, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	conversations, err := db.Conversations(b.Context(), store.ConversationQuery{})
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, c := range conversations {
		for m, err := range db.Messages(b.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				b.Fatal(err)
			}
			raw, err := db.Record(b.Context(), m.ID)
			if err != nil {
				b.Fatal(err)
			}
			text := fmt.Sprintf("%s %s %s\n%s", c.Key, m.Body.Role, raw, m.Body.PlainText())
			if b.agent.name() == "opencode" {
				if text = writtenAgain.ReplaceAllString(text, ""); slices.Contains(all, text) {
					continue // the row as it was before, or as it is now
				}
			}
			all = append(all, text)
		}
	}
	return all
}

func (b *runBed) digest(more ...string) string {
	b.Helper()
	var report struct{ Digest string }
	out := b.run(b.lcm, append([]string{"verify", "--all", "--json"}, more...)...)
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		b.Fatalf("lcm verify: %v\n%s", err, out)
	}
	return report.Digest
}
