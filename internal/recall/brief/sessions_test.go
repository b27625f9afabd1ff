package brief_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/recall/brief"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// home is a machine on which Claude Code writes transcripts, and the record
// that a feed makes of them.
type home struct {
	*testing.T
	dir, work string
	engine    *lcm.Engine
	feed      *hosts.Feed
	now       time.Time
}

func newHome(t *testing.T) *home {
	h := &home{T: t, dir: t.TempDir(), work: t.TempDir(), engine: engine(t), now: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)}
	feed, err := hosts.New(h.engine, all.Hosts(), hosts.Machine{Home: h.dir, Getenv: func(string) string { return "" }}, hosts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.feed = feed
	return h
}

// said is a message: of the user if it begins with "> ", else of the assistant.
type said string

// ran is a call of a tool and how it ended.
type ran struct {
	tool, key, value, output string
	failed                   bool
}

func bash(line, output string, failed bool) ran { return ran{"Bash", "command", line, output, failed} }
func edit(path string) ran                      { return ran{"Edit", "file_path", path, "updated", false} }

// session writes a transcript as Claude Code does, and stores it.
func (h *home) session(id string, what ...any) {
	h.Helper()
	path := filepath.Join(h.dir, ".claude", "projects", "work", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	var b strings.Builder
	n, parent := 0, any(nil)
	line := func(kind string, content any) {
		uuid := fmt.Sprintf("%s-%04d", id, n)
		data, err := json.Marshal(map[string]any{"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": id, "cwd": h.work,
			"gitBranch": "fix/cents", "timestamp": h.now.Format(time.RFC3339Nano), "message": map[string]any{"role": kind, "id": uuid, "content": content}})
		if err != nil {
			h.Fatal(err)
		}
		b.Write(append(data, '\n'))
		n, parent, h.now = n+1, uuid, h.now.Add(time.Minute)
	}
	for _, w := range what {
		switch w := w.(type) {
		case said:
			if text, ok := strings.CutPrefix(string(w), "> "); ok {
				line("user", text)
			} else {
				line("assistant", []any{map[string]any{"type": "text", "text": string(w)}})
			}
		case ran:
			call := strconv.Itoa(n)
			var value any = w.value
			if strings.HasPrefix(w.value, "[") { // a list of todos
				value = json.RawMessage(w.value)
			}
			line("assistant", []any{map[string]any{"type": "tool_use", "id": call, "name": w.tool, "input": map[string]any{w.key: value}}})
			line("user", []any{map[string]any{"type": "tool_result", "tool_use_id": call, "content": w.output, "is_error": w.failed}})
		}
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		h.Fatal(err)
	}
	transcript, err := h.feed.Locate(h.Context(), "claude", path, id)
	if err != nil {
		h.Fatal(err)
	}
	if r, err := h.feed.CatchUp(h.Context(), transcript, hosts.Limits{}); err != nil || !r.Complete {
		h.Fatal(r, err)
	}
	h.now = h.now.Add(time.Hour)
}

func (h *home) brief(session string) (brief.Brief, string) {
	h.Helper()
	here, err := project.Of(h.work)
	if err != nil {
		h.Fatal(err)
	}
	b, err := brief.Of(h.Context(), h.engine.Store(), brief.Options{Project: here, Session: session})
	if err != nil {
		h.Fatal(err)
	}
	block := b.Block(brief.DefaultTokens)
	h.readable(block, here)
	return b, block
}

// readable checks that lcm_describe reads every id that a block names, from the
// project that it is shown in.
func (h *home) readable(block string, here store.Project) {
	h.Helper()
	s, err := lookup.New(h.engine.Store())
	if err != nil {
		h.Fatal(err)
	}
	for _, id := range regexp.MustCompile(`(?:msg|sum|file)_\w+`).FindAllString(block[strings.Index(block, "# Last worked on"):], -1) {
		parsed, err := lookup.ParseID(id)
		if err != nil {
			h.Fatal(err)
		}
		if _, err := s.Describe(h.Context(), recall.DescribeRequest{ID: parsed, Where: recall.Where{Projects: []store.Project{here}}}); err != nil {
			h.Errorf("%s cannot be read: %v", id, err)
		}
	}
}

// invoices is a session of real work: something was decided, something is open,
// a file is not committed and a check fails.
func (h *home) invoices(id string) {
	h.session(id,
		said("> invoices are off by a cent, find out why"),
		bash("go test ./invoice", "--- FAIL: TestRound", true),
		said("Each line is rounded by itself. Shall I round once per rate?"),
		said("> yes. We decided: round once per tax rate, half up, never per line."),
		edit("internal/money/vat.go"),
		bash("go test ./invoice", "ok  \tinvoice\t0.2s", false),
		bash("make lint", "vat.go:12: error: unused parameter", true),
		said("Rounding is per rate now and the tests pass. The old invoices are not corrected yet: that is a follow-up for Petersen."))
}

// TestWorkLeads: after ten sessions of a question and an answer, the brief leads with the
// work before them, and lists or counts the questions.
func TestWorkLeads(t *testing.T) {
	h := newHome(t)
	h.session("earlier", said("> move the jobs to systemd timers"), edit("deploy/jobs.timer"),
		bash("git commit -am timers", "[main 1a2b3c4] timers", false), said("The jobs run from systemd timers; cron is gone."))
	h.invoices("work")
	for i := range 10 {
		h.session(fmt.Sprintf("question%d", i), said(fmt.Sprintf("> what does flag -%c of tar do?", 'a'+i)), said("It must always be given before the file name."))
	}
	b, block := h.brief("claude:new")
	if b.Work == nil || b.Work.Conversation.Key != "claude:work" || len(b.Others) != 11 || b.Others[10].Conversation.Key != "claude:earlier" || !strings.Contains(block, "cron is gone") {
		t.Fatalf("%+v\n%s", b, block)
	}
	golden := filepath.Join("testdata", "sessions.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), block); diff != "" {
		t.Errorf("%s\nrewrite it with -update if that is what it should say", diff)
	}
	concluded := strings.Index(block, "Rounding is per rate now")
	if other := strings.Index(block, "# Other sessions"); concluded < 0 || other < concluded {
		t.Errorf("another session leads:\n%s", block)
	}
}

// TestOnlyQuestions: where there is nothing but questions, the newest is told.
func TestOnlyQuestions(t *testing.T) {
	h := newHome(t)
	h.session("one", said("> what does tar -z do?"), said("It compresses."))
	h.session("two", said("> and -j?"), said("It compresses with bzip2."))
	if b, block := h.brief("claude:new"); b.Work == nil || b.Work.Conversation.Key != "claude:two" || len(b.Others) != 1 {
		t.Errorf("%+v\n%s", b, block)
	}
}

// TestMendedElsewhere: a commit and a successful run in a newer session close the points
// of an older one.
func TestMendedElsewhere(t *testing.T) {
	h := newHome(t)
	h.invoices("work")
	b, _ := h.brief("")
	if w := b.Work; len(w.Failing) != 1 || len(w.Files) != 1 || len(w.Decided) == 0 || w.Question != "" {
		t.Errorf("%+v", w)
	}
	h.session("later", said("> mend the linter and commit"), bash("make lint", "ok", false), bash("git commit -am vat", "[main 5d6e7f8] vat", false), said("Committed."))
	b, block := h.brief("")
	if len(b.Others) != 1 || len(b.Others[0].Failing) != 0 || len(b.Others[0].Files) != 0 {
		t.Errorf("%+v\n%s", b.Others, block)
	}
}

// TestCommitted: only a commit in the project commits its files, and a file that was removed is not told.
func TestCommitted(t *testing.T) {
	for line, c := range map[string]struct {
		output string
		left   string
	}{
		"git add vat.go && git commit -m vat": {"[main 5d6e7f8] vat", ""},
		"git commit -qam vat":                 {"", ""},
		"git log --oneline -3 && make":        {"5d6e7f8 (HEAD -> main) vat\n1234567 x", "vat.go old.go "},
		"cd /tmp && rm -rf t && mkdir t && cd t && git init && echo a > vat.go && git add . && git commit -m init": {"[main 5d6e7f8] init", "vat.go old.go "},
		"git -C /elsewhere commit -am x":          {"[main 5d6e7f8] x", "vat.go old.go "},
		"cd ROOT/api && git commit -am vat":       {"[main 5d6e7f8] vat", ""},
		"cd /tmp && rm old.go":                    {"", "vat.go old.go "},
		"rm -f old.go notes.txt && go test ./...": {"ok", "vat.go "},
		"git rm -q 'ROOT/old.go'":                 {"", "vat.go "},
	} {
		h := newHome(t)
		here, err := project.Of(h.work)
		if err != nil {
			t.Fatal(err)
		}
		line = strings.ReplaceAll(line, "ROOT", here.Root)
		h.session("s", said("> round once per rate"), edit(here.Root+"/old.go"), edit(here.Root+"/vat.go"), bash(line, c.output, false), said("It is rounded once."))
		b, block := h.brief("")
		left := ""
		for _, f := range b.Work.Files {
			left += filepath.Base(f.Path) + " "
		}
		if left != c.left {
			t.Errorf("%s: %q are left, want %q\n%s", line, left, c.left, block)
		}
	}
}

// TestWaiting: a question of the assistant that nobody answered, and a request
// that nobody took up, are open.
func TestWaiting(t *testing.T) {
	h := newHome(t)
	h.session("asks", said("> deploy it"), bash("make deploy", "ok", false), said("Staging is done. Shall I go on with production?"))
	if b, block := h.brief(""); b.Work.Question == "" || !strings.Contains(block, "- open: the question at the end of msg_4 was not answered") {
		t.Error(block)
	}
	h.session("asked", said("> build it"), bash("make", "ok", false), said("Built."), said("> now sign the release"))
	if _, block := h.brief(""); !strings.Contains(block, `: "now sign the release"`) || !strings.Contains(block, "- open: msg_9 was not answered") {
		t.Error(block)
	}
}

// TestBranchAndEnd: the branch is told where the host records it, and a session whose record ends in a call is open.
// So is the last question of another session.
func TestBranchAndEnd(t *testing.T) {
	h := newHome(t)
	h.session("asks", said("> deploy it"), bash("make deploy", "ok", false), said("Staging is done. Shall I go on with production?"))
	h.session("ends", said("> move the jobs to timers"), edit("jobs.timer"), said("The first job is moved."),
		said("> why is the second one late?"), said("I look at its log."), bash("cat log", "late", false))
	b, block := h.brief("")
	for _, want := range []string{" with claude on branch fix/cents, ", "- open: its record ends in a call, msg_12\n", `- asked in msg_9: "why is the second one late?"`, "; open: the question at the end of msg_4 was not answered"} {
		if !strings.Contains(block, want) {
			t.Errorf("want %q in\n%s", want, block)
		}
	}
	own, err := brief.Of(t.Context(), h.engine.Store(), brief.Options{Project: b.Work.Conversation.Project, Session: "claude:ends", Own: true})
	if err != nil || own.Work.Conversation.ID != b.Work.Conversation.ID || own.Work.Unfinished != 0 {
		t.Errorf("a session that goes on is told as ended: %+v, %v", own.Work, err)
	}
}

// TestChecksDoNotLead: sessions that only looked whether things work push no
// work out; one that left a failure behind does.
func TestChecksDoNotLead(t *testing.T) {
	h := newHome(t)
	h.invoices("work")
	for i, line := range []string{"go version", "go build", "go test ./...", "make", "cd api && go vet ./...", "node --version", "kubectl get pods 2>/dev/null | wc -l", "npm run build"} {
		h.session(fmt.Sprintf("check%d", i), said("> is the build ok?"), bash(line, "fine", false), said("Yes, it is fine."))
	}
	b, block := h.brief("claude:new")
	if b.Work.Conversation.Key != "claude:work" || len(b.Others) != 8 {
		t.Errorf("%q leads, beside %d:\n%s", b.Work.Conversation.Key, len(b.Others), block)
	}
	h.session("broken", said("> is the build ok?"), bash("go build", "main.go:3: undefined: x", true), said("No: x is undefined."))
	if b, block = h.brief("claude:new"); b.Work.Conversation.Key != "claude:broken" {
		t.Errorf("%q leads:\n%s", b.Work.Conversation.Key, block)
	}
	h.session("change", said("> put it on staging"), bash("cd api && ./deploy.sh staging 2>&1 | tail -1", "done", false), said("It is on staging."))
	if b, block = h.brief("claude:new"); b.Work.Conversation.Key != "claude:change" {
		t.Errorf("%q leads:\n%s", b.Work.Conversation.Key, block)
	}
}

var (
	listed  = regexp.MustCompile(`(?m)^- conversation \d+`)
	counted = regexp.MustCompile(`(\d+) sessions? (?:more|older|of|that|in)`)
)

// told returns how many other sessions a block lists and counts.
func told(t *testing.T, block string) int {
	t.Helper()
	n := len(listed.FindAllString(block, -1))
	for _, m := range counted.FindAllStringSubmatch(block, -1) {
		of, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		n += of
	}
	return n
}

// TestNoSessionIsDropped: every session has a line or is counted, whatever it left behind.
func TestNoSessionIsDropped(t *testing.T) {
	h := newHome(t)
	h.session("limit", said("> set the rate limit to 120"), said("It is 120 now."), said("> thanks"), said("You're welcome."))
	h.invoices("work")
	h.session("asked", said("> which rounding did we decide on?"), ran{"mcp__lcm__lcm_grep", "query", "rounding", "msg_11", false}, said("Per line."))
	h.session("silent", said("> <command-name>/clear</command-name>"))
	if b, block := h.brief("claude:new"); b.Asking != 1 || b.Empty != 1 || told(t, block) != 3 || !strings.Contains(block, `"set the rate limit to 120"`) {
		t.Errorf("%+v\n%s", b, block)
	}
	for i := range 70 {
		h.session(fmt.Sprintf("s%d", i), said(fmt.Sprintf("> rename column %d", i)), edit(fmt.Sprintf("col%d.sql", i)), said("Renamed."))
	}
	if b, block := h.brief("claude:new"); b.Older == 0 || told(t, block) != 73 {
		t.Errorf("%d of 73 are told:\n%s", told(t, block), block)
	}
}

// TestAskingLcmIsNotWork: a turn that only asked lcm is neither the last work, nor how a
// session ended, nor open.
func TestAskingLcmIsNotWork(t *testing.T) {
	h := newHome(t)
	ask := []any{said("> which rounding did we decide on?"), ran{"mcp__lcm__lcm_grep", "query", "rounding", "msg_11", false}, said("Per line, half down. Shall I change it?")}
	h.session("work", append([]any{said("> mend the rounding"), edit("vat.go"), said("Rounding is per rate now.")}, ask...)...)
	h.session("asked", ask...)
	b, block := h.brief("claude:new")
	if b.Work.Conversation.Key != "claude:work" || b.Work.Stands.Text != "Rounding is per rate now." || strings.Contains(block, "half down") || strings.Contains(block, "- open:") {
		t.Errorf("%+v\n%s", b.Work, block)
	}
}

// TestDoneIsNotOpen: a session that says what it did left nothing open.
func TestDoneIsNotOpen(t *testing.T) {
	h := newHome(t)
	h.session("s", said("> the parser must not wait for the next token"), bash("go test ./parse", "--- FAIL: TestWait", true), edit("parse.go"),
		ran{"TodoWrite", "todos", `[{"content":"replace the lock","status":"completed"}]`, "ok", false}, bash("go test ./...", "ok", false),
		said("I replaced it instead of waiting until the next token is pending; 88 tests pass."))
	if _, block := h.brief("claude:new"); strings.Contains(block, "- open:") || !strings.Contains(block, "88 tests pass") {
		t.Error(block)
	}
}

// TestOneLineEach: where the work stands, open points, what was decided last and standing
// instructions have one line each, within the default size.
func TestOneLineEach(t *testing.T) {
	h := newHome(t)
	h.session("rules", said("> never amend commits, and use true/false, not on/off. Why don't we have a linter?"), edit("a.go"), said("Done."))
	h.invoices("work")
	_, block := h.brief("claude:new")
	for _, want := range []string{"- where it stands: msg_16 ", "- open: `make lint` failed in msg_15: ", "- decided last: msg_9 ", "- standing instructions of the user: msg_1 \"never amend commits"} {
		if strings.Count(block, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, block)
		}
	}
	if strings.Contains(block, "; msg_1 ") || llms.Estimate.Count(block) > 600 {
		t.Errorf("%d tokens:\n%s", llms.Estimate.Count(block), block)
	}
}

// TestFailuresAreToldOnce: a table with a row of errors is no failure, and a
// failure is told once, in the newest session that has it.
func TestFailuresAreToldOnce(t *testing.T) {
	h := newHome(t)
	h.session("old", said("> lint it"), edit("a.go"), bash("make lint", "vat.go:12: error: unused parameter", true), said("It fails."))
	h.session("later", said("> lint it again"), edit("b.go"), bash("make lint", "vat.go:12: error: unused parameter", true),
		bash("make -C . lint", "vat.go:12: error: unused parameter", true), said("Still the same."))
	if _, block := h.brief("claude:new"); strings.Count(block, "unused parameter") != 1 {
		t.Error(block)
	}
	e := engine(t)
	if err := e.Session("codex:a", lcm.WithProject(here), lcm.WithAgent("codex")).Append(t.Context(), llms.User("which levels are in the log?"),
		call("1", "exec_command", `{"cmd":"awk -f levels.awk app.log"}`), llms.Result("1", "exec_command", "level n share\nERROR * 41,905 2.2 1.4%\nINFO 9 1 1%", false),
		call("2", "exec_command", `{"cmd":"./deploy.sh"}`), llms.Result("2", "exec_command", "ERROR * 41,905 2.2 1.4%", false),
		call("3", "exec_command", `{"cmd":"./migrate.sh"}`), llms.Result("3", "exec_command", "Error: no such table\nProcess exited with code 1", false)); err != nil {
		t.Fatal(err)
	}
	if w := of(t, e, brief.Options{}).Work; len(w.Failing) != 1 || !strings.HasPrefix(w.Failing[0].Text, "./migrate.sh → ") {
		t.Errorf("%+v", w.Failing)
	}
}
