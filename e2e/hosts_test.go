//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// agents are the hosts that every test drives. added are those that only TestHosts
// drives, when LCM_E2E_HOST (`make e2e HOST=name`) names them or is "all".
var (
	agents = []agent{claudeAgent{}, codexAgent{}, opencodeAgent{}}
	added  = []agent{
		kiloAgent{},
		qwenAgent{},
		copilotAgent{},
		droidAgent{},
		geminiAgent{},
		piAgent{},
		openclawAgent{new(int)},
		clineAgent{},
	}
)

// TestHosts connects each of the real agents, works with it and disconnects
// it, with a scripted model and without network.
func TestHosts(t *testing.T) {
	chosen := slices.DeleteFunc(slices.Concat(agents, added), func(h agent) bool {
		host := os.Getenv("LCM_E2E_HOST")
		return host != "all" && host != h.name() && (host != "" || slices.Contains(added, h))
	})
	if len(chosen) == 0 {
		t.Fatalf("no agent is called %q", os.Getenv("LCM_E2E_HOST"))
	}
	for _, h := range chosen {
		programsOf(t, h) // while there is a network
	}
	if !withoutNetwork(t) {
		return
	}
	for _, h := range chosen {
		t.Run(h.name(), func(t *testing.T) { drive(t, h) })
		if r, ok := h.(runner); ok {
			t.Run(h.name()+"/run", func(t *testing.T) { runAdded(t, r) })
		}
	}
}

// programsOf returns the node_modules of an agent. The manifest of an added one is a file
// of its own, so that nobody downloads all of them.
func programsOf(t *testing.T, h agent) string {
	t.Helper()
	dir := os.Getenv(programsEnv)
	if manifest := filepath.Join("testdata", "hosts", h.name()+".json"); slices.ContainsFunc(added, func(a agent) bool { return a.name() == h.name() }) {
		dir = npmInstall(t, manifest)
	}
	return filepath.Join(dir, "node_modules")
}

// agent is a host as the test drives it.
type agent interface {
	name() string
	// prepare writes the settings of somebody who uses the agent already.
	prepare(b *bed)
	// trust lets it run hooks, in its own way.
	trust(b *bed)
	// ask starts a session with a prompt, and goOn continues the newest
	// session of the directory with one. Both return the output of the agent.
	ask(b *bed, prompt string) string
	goOn(b *bed, prompt string) string
	// compact has it compact the last session and go on with it; it returns
	// false where there is no way to do that without a person.
	compact(b *bed, prompt string) bool
	// records returns the texts that must be in the database, word for word.
	records(b *bed) [][]byte
	// rewritten are files that the agent itself writes to while it runs.
	rewritten() []string
}

// hookless is an agent that runs no command of lcm's: the MCP server reads its sessions, and
// its model gets no text of lcm's but a skill.
type hookless interface{ hookless() }

// bed is a machine with nothing on it but one agent and lcm.
type bed struct {
	*testing.T
	home, work    string
	lcm, programs string
	model         *llmtest.Server
	url           string // of the model
	env           []string
	// wrap is the command before that of an agent, and flags are added to the
	// agent's own.
	wrap, flags []string
}

const (
	needle = "tangerine-4711"
	tell   = "The harbour gate opens with " + needle + ". play:tell"
	later  = "marigold-0815"
	amend  = "The harbour gate opens with " + later + " now. play:tell"
	recall = "What opens the harbour gate? play:recall"
	goOn   = "Where were we? play:go"
)

// drive is the story of a user who connects an agent, works with it, recalls
// what was said in a second session, and disconnects it.
func drive(t *testing.T, h agent) {
	home := filepath.Join(t.TempDir(), "home")
	b := newBed(t, home, filepath.Join(home, "project"), play)
	b.programs = programsOf(t, h)
	model := b.model
	b.write(filepath.Join(b.work, "notes.txt"), "low tide\n")
	h.prepare(b)
	before := b.settings()
	t.Log(b.run(b.lcm, "setup", h.name(), "--yes", "--skill"))
	h.trust(b)
	if _, ok := h.(onlyEngine); ok {
		b.engined(h)
		t.Log(b.run(b.lcm, "setup", "--remove", h.name(), "--yes"))
		b.restored(before, h.rewritten())
		return
	}

	_, hookless := h.(hookless)
	t.Log(h.ask(b, tell))
	told := h.records(b)
	for range 2 { // two new sessions
		if !hookless {
			b.stored(h.records(b))
		}
		asked := len(model.Exchanges())
		t.Log(h.ask(b, recall))
		if hookless {
			b.taught(model.Exchanges()[asked:])
		} else {
			b.told(model.Exchanges()[asked:])
		}
		b.answered(model.Exchanges()[asked:])
		b.stored(told) // without hooks, by the MCP server
	}
	t.Log(h.ask(b, amend))
	asked := len(model.Exchanges())
	t.Log(h.ask(b, recall))
	b.amended(model.Exchanges()[asked:])
	asked = len(model.Exchanges())
	if h.compact(b, goOn) {
		b.reminded(model.Exchanges()[asked:])
		b.stored(h.records(b))
	}
	if hookless {
		t.Log(b.run(b.lcm, "import", h.name()))
	}
	b.alive(h)
	b.stored(h.records(b))
	b.exported(h)

	t.Log(b.run(b.lcm, "setup", "--remove", h.name(), "--yes"))
	b.restored(before, h.rewritten())
}

// newBed makes a bed in a home directory, with a model of its own.
func newBed(t *testing.T, home, work string, play llmtest.Responder) *bed {
	t.Helper()
	model, err := llmtest.Serve(play)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	b := emptyBed(t, home, work)
	b.model, b.url = model, model.URL
	return b
}

// emptyBed makes a bed without a model.
func emptyBed(t *testing.T, home, work string) *bed {
	return &bed{
		T: t, home: home, work: work, lcm: os.Getenv(lcmEnv), programs: filepath.Join(os.Getenv(programsEnv), "node_modules"),
		env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"},
	}
}

func (b *bed) write(path, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
}

// nodeProgram makes a command of a script for Node.js, as npm does, and returns its path.
func (b *bed) nodeProgram(name, script string) string {
	b.Helper()
	path := filepath.Join(b.home, "bin", name)
	b.write(path, "#!/bin/sh\nexec '"+node(b, filepath.Dir(b.programs))+"' '"+filepath.Join(b.programs, script)+"' \"$@\"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		b.Fatal(err)
	}
	return path
}

// host runs an agent and returns its output.
func (b *bed) host(program string, args ...string) string {
	b.Helper()
	all := slices.Concat(b.wrap, []string{program}, args, b.flags)
	return b.run(all[0], all[1:]...)
}

// run runs a program in the project and returns its output.
func (b *bed) run(program string, args ...string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = b.work, b.env
	out, err := c.CombinedOutput()
	if err != nil {
		b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// database opens the record that setup's commands write to.
func (b *bed) database() *sqlite.DB {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.home, ".local", "share", "lcm", "lcm.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// stored waits until the record has every one of the given records word for
// word: a hook may still be at work in the background.
func (b *bed) stored(want [][]byte) {
	b.Helper()
	if len(want) == 0 {
		b.Fatal("the agent kept no transcript")
	}
	deadline := time.Now().Add(time.Minute)
	for {
		missing := b.missing(want)
		if len(missing) == 0 {
			b.Logf("%d records of the transcript are in the database word for word", len(want))
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d of %d records are not in the database, the first is %.500s", len(missing), len(want), missing[0])
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (b *bed) missing(want [][]byte) [][]byte {
	db := b.database()
	defer db.Close()
	have := map[string]bool{}
	all, err := db.Conversations(b.Context(), store.ConversationQuery{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range all {
		for m, err := range db.Messages(b.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				b.Fatal(err)
			}
			raw, err := db.Record(b.Context(), m.ID)
			if err != nil {
				b.Fatal(err)
			}
			have[string(raw)] = true
			have[m.Body.PlainText()] = true
		}
	}
	var missing [][]byte
	for _, w := range want {
		if !have[string(w)] {
			missing = append(missing, w)
		}
	}
	return missing
}

// exported checks that the record gives back every session: each record that is read, in its
// order, and a file of lines byte for byte.
func (b *bed) exported(h agent) {
	b.Helper()
	host, err := all.Named[hosts.Host](h.name())
	if err != nil {
		b.Fatal(err)
	}
	db := b.database()
	defer db.Close()
	for t, err := range host.Transcripts(b.Context(), host.Find(hosts.Machine{Home: b.home})) {
		if err != nil {
			b.Fatal(err)
		}
		var read bytes.Buffer
		records := 0
		for rec, err := range host.Read(b.Context(), t, hosts.Position{}) {
			if err != nil {
				b.Fatal(err)
			}
			if !hosts.IsAside(rec.ID) {
				read.Write(append(bytes.TrimRight(rec.Raw.Bytes, "\n"), '\n'))
				records++
			}
		}
		if strings.HasSuffix(t.Path, ".jsonl") {
			if file, err := os.ReadFile(t.Path); err != nil || !bytes.Equal(file, read.Bytes()) {
				b.Errorf("%s is not what is read of it (%v)", t.Path, err)
			}
		}
		stored, err := db.Conversations(b.Context(), store.ConversationQuery{Key: t.Key()})
		if err != nil || len(stored) != 1 {
			b.Fatal(stored, err)
		}
		out := b.run(b.lcm, "db", "export", "--raw", "-c", fmt.Sprint(stored[0].ID))
		if strings.HasSuffix(t.Path, ".jsonl") && strings.Count(out, "\n") > records { // lines that the agent has rewritten are there in each form
			have := slices.Sorted(strings.Lines(out))
			want := slices.Sorted(strings.Lines(read.String()))
			if have = slices.DeleteFunc(have, func(line string) bool { return !slices.Contains(want, line) }); slices.Equal(have, want) {
				out = read.String()
			}
		}
		if out != read.String() {
			b.Errorf("%s: %d records are read, and the export is\n%s\nnot\n%s", t.Key(), records, out, read.String())
		}
		b.Logf("%s: %d records are read, and the export has the same sha256 %x", t.Key(), records, sha256.Sum256([]byte(out)))
	}
}

// told checks that the second session was given the block of context, in its
// first request.
func (b *bed) told(asked []llmtest.Exchange) {
	b.Helper()
	for _, x := range asked {
		if len(x.Request.Tools) == 0 {
			continue // a side request, for a title
		}
		body := string(x.Body)
		i := strings.Index(body, "lcm-context")
		if i < 0 || !strings.Contains(body[i:], needle) {
			b.Errorf("the second session is not told of the first: %.3000s", body)
		}
		return
	}
	b.Error("the second session asked nothing")
}

// taught checks that the first request of a session shows the skill.
func (b *bed) taught(asked []llmtest.Exchange) {
	b.Helper()
	if len(asked) == 0 || !strings.Contains(string(asked[0].Body), "lcm-memory") {
		b.Errorf("the model is not shown the skill in %d requests", len(asked))
	}
}

// reminded checks that a session that was compacted is told of itself.
func (b *bed) reminded(asked []llmtest.Exchange) {
	b.Helper()
	// As the block about the session quotes it, not as it stands in a history or in that of another.
	quoted := regexp.MustCompile(`# Last worked on\\+nconversation [^#]*msg_\d+: \\+"` + regexp.QuoteMeta(recall))
	for _, x := range asked {
		if strings.Contains(string(x.Body), goOn) && quoted.Match(x.Body) {
			b.Log("after its compaction the session is told of itself")
			return
		}
	}
	b.Errorf("after its compaction the session is not told of itself; %d requests, the last: %.6000s", len(asked), asked[len(asked)-1].Body)
}

// answered checks the results that the model was given for its calls.
func (b *bed) answered(asked []llmtest.Exchange) {
	b.Helper()
	got := map[string]string{}
	for _, r := range toolResults(asked) {
		got[r.tool] = r.text
	}
	_, explained := got["expand"]
	for tool, want := range map[string]string{
		"lcm_grep": needle, "lcm_describe": "The harbour gate opens with " + needle, "lcm_expand_query": needle, "expand": "full_text",
	} {
		if tool == "expand" && !explained && slices.ContainsFunc(asked, func(x llmtest.Exchange) bool { return offers(x.Request, "lcm_grep") && !offers(x.Request, tool) }) {
			continue
		}
		if !strings.Contains(got[tool], want) {
			b.Errorf("%s answered %.2000q, which is without %q", tool, got[tool], want)
		} else {
			b.Logf("%s: %.160q", tool, got[tool])
		}
	}
}

// amended checks that what was said last is in the answer.
func (b *bed) amended(asked []llmtest.Exchange) {
	b.Helper()
	for _, r := range toolResults(asked) {
		switch {
		case r.tool != "lcm_grep" && r.tool != "lcm_expand_query":
		case !strings.Contains(r.text, later):
			b.Errorf("%s does not show %s: %.2000q", r.tool, later, r.text)
		default:
			b.Logf("%s, amended: %.300q", r.tool, r.text)
		}
	}
}

// alive checks doctor's findings about the connection.
func (b *bed) alive(h agent) {
	b.Helper()
	c := exec.CommandContext(b.Context(), b.lcm, "doctor", "--json")
	c.Dir, c.Env = b.work, b.env
	out, err := c.Output()
	var report struct {
		Findings []struct{ Code, Message string }
	}
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		b.Fatalf("lcm doctor: %v %v\n%s", err, jsonErr, out)
	}
	for _, f := range report.Findings {
		_, hookless := h.(hookless)
		if f.Code == "host-alive" && (hookless || strings.Contains(f.Message, "hooks last ran")) && strings.Contains(f.Message, "tools visible") {
			b.Log(f.Message)
			return
		}
	}
	b.Errorf("lcm doctor does not say that %s is alive:\n%s", h.name(), out)
}

// lines reads the JSON lines of the files that match a pattern.
func (b *bed) lines(pattern string) [][]byte {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(b.home, pattern))
	if err != nil {
		b.Fatal(err)
	}
	var all [][]byte
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(content) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				all = append(all, line)
			}
		}
	}
	return all
}
