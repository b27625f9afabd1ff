//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
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
	// size is that of a log, 0 for 28 kB, and pace how long the model takes for an answer.
	size int
	pace time.Duration
}

// longEnv adds the runs that take minutes.
const longEnv = "LCM_E2E_LONG"

var longRuns = []longRun{
	{name: "claude-60", host: claudeAgent{}, logs: 60, budget: 100_000, flags: []string{"--model", "claude-sonnet-4-6"}, most: 1.1},
	{name: "claude-million", long: true, host: claudeAgent{}, logs: 160, budget: 100_000, flags: []string{"--model", "claude-opus-4-8[1m]"}, most: 0.5},
	{name: "codex", host: codexAgent{}, logs: 90, budget: 120_000, most: 1.1},
	{name: "opencode", long: true, host: opencodeAgent{}, logs: 90, budget: 120_000, most: 1.1},
}

// The cost that lcm reports may be lower than the measured one by a tenth, and higher by a
// third: hosts do not compact exactly as lcm's simulation of them does.
const (
	tooLow  = 0.9
	tooHigh = 1.33
)

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
			var plain, through apiTotals
			var estimated float64 // the ratio of their costs, as lcm tells it
			t.Run("plain", func(t *testing.T) { plain = r.plain(t) })
			if os.Getenv(plainEnv) != "" || t.Failed() {
				return
			}
			t.Run("lcm", func(t *testing.T) { through, estimated = r.through(t) })
			if t.Failed() {
				return
			}
			measured := through.Cost / plain.Cost
			t.Logf("cost %.0f, without lcm %.0f: %.2f; lcm estimates %.2f", through.Cost, plain.Cost, measured, estimated)
			if estimated < measured*tooLow || estimated > measured*tooHigh {
				t.Errorf("lcm run --list says %.2f of the cost without lcm, and it is %.2f", estimated, measured)
			}
			if through.Cost > r.most*plain.Cost {
				t.Errorf("the cost is %.2f of that without lcm, more than %.2f", through.Cost/plain.Cost, r.most)
			}
		})
	}
}

func (r longRun) play(t *testing.T, wrap []string) (*runBed, outcome) {
	t.Helper()
	b := newRunBed(t, r.host, wrap, apiOptions{})
	b.logs(r.logs, cmp.Or(r.size, 28_000))
	b.flags, b.pace = r.flags, r.pace
	switch r.host {
	case geminiAgent{}: // it takes no MCP server for one process
		b.run(b.lcm, "setup", "gemini", "--yes")
	case droidAgent{}: // its settings for one process name no MCP server
		b.run(b.lcm, "setup", "droid", "--yes")
		t.Cleanup(func() { time.Sleep(3 * time.Second) }) // its hooks leave a process that waits for late records
	}
	o := b.ask(fmt.Sprintf("Read the logs, then say what opens the harbour gate. play:recall%d", r.logs))
	t.Logf("%d %q", o.Code, o.Answer)
	// opencode ends so after the API has refused a request as too long.
	if o.Code != 0 && (wrap != nil || r.host != opencodeAgent{}) {
		t.Fatalf("the host failed: %s", tail(o.log))
	}
	return b, o
}

// runAdded plays a long turn of an added agent through lcm. Without lcm it would send all of
// the logs.
func runAdded(t *testing.T, h runner) {
	r := longRun{host: h, logs: 15, budget: 60_000} // Qwen Code clears old results by itself from 140,000 tokens on
	apis := []agent{h}
	if h == (copilotAgent{}) { // it cuts output above 20 kB, and writes its events every half second
		r.logs, r.size, r.budget, r.pace = 20, 18_000, 80_000, 300*time.Millisecond
		apis = append(apis, copilotAgent{wire: "responses"}, copilotAgent{wire: "anthropic"})
	}
	if h == (droidAgent{}) { // it cuts output above 4 kB
		r.logs, r.size, r.budget = 40, 4_000, 40_000
	}
	for _, r.host = range apis {
		sum, _ := r.through(t)
		t.Logf("`lcm run`: the largest of %d requests has %d tokens, with a budget of %d", sum.Requests, sum.Largest, r.budget)
	}
}

// plain checks that without lcm the host compacts and the early fact is gone.
func (r longRun) plain(t *testing.T) apiTotals {
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

func (r longRun) through(t *testing.T) (sum apiTotals, estimated float64) {
	b, o := r.play(t, proxied(r.budget))
	sum = b.totals()
	b.valid()
	if sum.Compactions > 0 || sum.Largest > r.budget {
		t.Errorf("%d compactions upstream, largest request %d tokens of %d", sum.Compactions, sum.Largest, r.budget)
	}
	if o.Answer != "The gate opens with "+needle+", says lcm_grep." {
		t.Errorf("the early fact is not recalled: %q", o.Answer)
	}
	if r.host != (droidAgent{}) { // its tools change when the model looks for lcm's
		checkCache(t, b.api.Records())
	}
	b.sameDigest()
	var runs []struct{ Cost, Plain float64 }
	if out := b.run(b.lcm, "run", "--list", "--json"); json.Unmarshal([]byte(out), &runs) != nil || len(runs) != 1 || runs[0].Plain == 0 {
		t.Fatalf("lcm run --list: %s", out)
	}
	return sum, runs[0].Cost / runs[0].Plain
}

// checkCache checks that a request that is not shorter than the one before reads
// all of that one from the provider's cache.
func checkCache(t *testing.T, records []apiRecord) {
	t.Helper()
	folds, before := 0, apiRecord{}
	for i, r := range records {
		if r.Kind != mainRequest || r.Refused != "" || r.Fault != 0 || r.Agent != "" {
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

// sameDigest checks that the record has all of the transcripts, and the digest of a fresh
// import of them, unless the agent rewrote records while it ran: their earlier forms are kept too.
func (b *runBed) sameDigest() {
	b.Helper()
	got := b.digest()
	b.run(b.lcm, "import", b.agent.name())
	if again := b.digest(); again != got {
		b.Errorf("after the run, an import finds records that are not stored: the digest is %s, then %s", got, again)
	}
	fresh := filepath.Join(b.home, "fresh.db")
	b.Log(b.run(b.lcm, "import", b.agent.name(), "--db", fresh))
	run, imported := b.rows(filepath.Join(b.home, ".local", "share", "lcm", "lcm.db")), b.rows(fresh)
	if want := b.digest("--db", fresh); got != want || got == "" {
		if earlier := b.sameRows(run, imported); earlier == 0 || got == "" {
			b.Errorf("the digest is %s, that of a fresh import %s", got, want)
		}
	}
}

// sameRows checks that two databases have the same rows in the same order, and that the
// first has each row of the second byte for byte. It returns how many earlier forms the first has.
func (b *runBed) sameRows(run, imported []hostRow) int {
	b.Helper()
	for i := range max(len(run), len(imported)) {
		switch {
		case i >= len(run):
			b.Errorf("only the fresh import has %s: %.600s", imported[i].id, imported[i].forms)
		case i >= len(imported):
			b.Errorf("only the run has %s: %.600s", run[i].id, run[i].forms)
		case run[i].id != imported[i].id:
			b.Errorf("row %d is %s, and of a fresh import %s", i, run[i].id, imported[i].id)
		case len(imported[i].forms) != 1 || !slices.Contains(run[i].forms, imported[i].forms[0]):
			b.Errorf("%s is\n%.1500s\nand of a fresh import\n%.1500s", run[i].id, run[i].forms, imported[i].forms)
		default:
			continue
		}
		return 0 // those after it differ too
	}
	changed := 0
	for _, r := range run {
		changed += len(r.forms) - 1
	}
	b.Logf("%d rows are the same; the run has %d earlier forms of them", len(run), changed)
	return changed
}

// hostRow is a record of a host and the forms in which it was stored, oldest first.
type hostRow struct {
	id    string // the session and the host's own id
	forms []string
}

// rows are the records in a database, in their order.
func (b *runBed) rows(path string) []hostRow {
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
	slices.SortFunc(conversations, func(x, y store.Conversation) int { return strings.Compare(x.Key, y.Key) })
	var all []hostRow
	at := map[string]int{}
	for _, c := range conversations {
		for m, err := range db.Messages(b.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				b.Fatal(err)
			}
			raw, err := db.Record(b.Context(), m.ID)
			if err != nil {
				b.Fatal(err)
			}
			native, _, _ := strings.Cut(m.Native, "@") // a later form has a hash behind its id
			id := c.Key + " " + native
			if _, ok := at[id]; !ok {
				at[id] = len(all)
				all = append(all, hostRow{id: id})
			}
			row := &all[at[id]]
			row.forms = append(row.forms, string(raw))
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
