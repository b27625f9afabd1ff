//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// How the sessions of the history come about. The others are written into the
// homes of the hosts, in their formats, before lcm is set up.
var (
	// liveBefore are said in the real programs before lcm is set up: opencode
	// makes its database then.
	liveBefore = []string{"s22", "s23", "s24", "s27"}
	// liveAfter are said in the real programs with lcm's hooks, turn by turn.
	liveAfter = []string{"s25", "s26", "s01", "s02", "s15"}
)

// What the figures must be.
const (
	wantMain    = 17 // of 18, for each call
	wantFurther = 28 // of 30, for each call
	wantShare   = 0.70
	wantTokens  = 1100
)

// TestQuestions asks natural questions in new sessions of the real hosts. The
// scripted model calls lcm's tools with no argument but the required ones, and
// what the host gives it for a call must hold the answer.
func TestQuestions(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	past, questions := readHistory(t)
	m := newQuestionMachine(t, past)
	m.tellHistory(past)
	asked := m.askAll(questions)
	m.report(asked)
}

// questionMachine is one home with all hosts, each with a model of its own.
type questionMachine struct {
	*testing.T
	home   string
	began  time.Time
	agents map[string]agent
	beds   map[string]*bed
	stages map[string]*stage
}

func newQuestionMachine(t *testing.T, past history) *questionMachine {
	m := &questionMachine{T: t, home: filepath.Join(t.TempDir(), "home"), began: time.Now(), agents: map[string]agent{}, beds: map[string]*bed{}, stages: map[string]*stage{}}
	for _, a := range agents {
		s := &stage{}
		m.agents[a.name()], m.stages[a.name()] = a, s
		m.beds[a.name()] = newBed(t, m.home, "", s.play)
		a.prepare(m.beds[a.name()])
	}
	for _, s := range past.Sessions {
		dir := m.dir(s.Project)
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		m.beds["claude"].write(filepath.Join(dir, "README.md"), "# "+s.Project+"\n")
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=dev", "-c", "user.email=dev@example.com", "commit", "-qm", "Begin"}} {
			c := exec.CommandContext(t.Context(), "git", args...)
			c.Dir, c.Env = dir, []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH")}
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", args[0], err, out)
			}
		}
	}
	return m
}

func (m *questionMachine) dir(project string) string { return filepath.Join(m.home, "src", project) }

// in is the bed of a host in the directory of a project.
func (m *questionMachine) in(host, project string) *bed {
	b := *m.beds[host]
	b.work = m.dir(project)
	return &b
}

func (m *questionMachine) say(format string, args ...any) {
	m.Helper()
	m.Logf("%5.1fs %s", time.Since(m.began).Seconds(), fmt.Sprintf(format, args...))
}

// tellHistory has the history said, and waits until lcm has kept all of it.
func (m *questionMachine) tellHistory(past history) {
	byID := map[string]session{}
	for _, s := range past.Sessions {
		byID[s.ID] = s
	}
	for _, id := range liveBefore {
		m.live(byID[id])
	}
	written := 0
	for _, s := range past.Sessions {
		if !slices.Contains(liveBefore, s.ID) && !slices.Contains(liveAfter, s.ID) {
			m.agents[s.Host].(writer).put(m.in(s.Host, s.Project), s)
			written++
		}
	}
	m.say("%d sessions are written in the formats of the hosts", written)
	for _, a := range agents {
		b := m.in(a.name(), past.Sessions[0].Project)
		b.run(b.lcm, "setup", a.name(), "--yes")
		a.trust(b)
	}
	m.agents["opencode"] = startOpencode(m.in("opencode", past.Sessions[0].Project))
	for _, id := range liveAfter {
		m.live(byID[id])
	}
	m.waitForHistory(past)
}

// live has a session said in the real program.
func (m *questionMachine) live(s session) {
	m.Helper()
	b, a := m.in(s.Host, s.Project), m.agents[s.Host]
	for i, t := range s.turns() {
		m.stages[s.Host].set(replay(t), s.title())
		if i == 0 {
			a.ask(b, t.prompt)
		} else {
			a.goOn(b, t.prompt)
		}
	}
	m.say("%s was said in %s, %d turns", s.ID, s.Host, len(s.turns()))
}

// waitForHistory waits until every text of the history is in the record: hooks
// and servers read transcripts in the background.
func (m *questionMachine) waitForHistory(past history) {
	m.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		var missing []string
		have := m.allText()
		for _, s := range past.Sessions {
			for i, u := range s.Messages {
				if !strings.Contains(have, u.Text+u.Output) && !strings.Contains(have, strings.ReplaceAll(u.Text, `"`, `\"`)) { // opencode escapes quotes
					missing = append(missing, fmt.Sprintf("%s[%d]", s.ID, i))
				}
			}
		}
		if len(missing) == 0 {
			m.say("the history is in the record")
			return
		}
		if time.Now().After(deadline) {
			m.Fatalf("%d texts of the history are not in the record: %s", len(missing), strings.Join(missing, " "))
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// each calls fn with every message of the record.
func (m *questionMachine) each(fn func(store.Message)) {
	m.Helper()
	db := m.beds["claude"].database()
	defer db.Close()
	all, err := db.Conversations(m.Context(), store.ConversationQuery{})
	if err != nil {
		m.Fatal(err)
	}
	for _, c := range all {
		for msg, err := range db.Messages(m.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				m.Fatal(err)
			}
			fn(msg)
		}
	}
}

// allText is everything in the record.
func (m *questionMachine) allText() string {
	var all strings.Builder
	m.each(func(msg store.Message) { all.WriteString(msg.Body.SearchText() + "\n") })
	return all.String()
}

// asked is a call that was made for a question.
type asked struct {
	question
	call     call
	further  bool
	result   string
	answered bool
	said     bool // that the answer comes from another project
}

// elsewhere is how a result says that something is of another project.
var elsewhere = regexp.MustCompile(`(?i)\b(an)?other projects?\b|\belsewhere\b`)

// askAll asks each question in a new session of its host. The first of the
// three calls is another one in each session, so that none always profits or
// suffers from what the others leave in the transcript.
func (m *questionMachine) askAll(questions []question) []asked {
	var all []asked
	for i, q := range questions {
		b := m.in(q.Host, q.Project)
		m.stages[q.Host].set(asking(q, i%len(calls)), q.ID)
		before := len(b.model.Exchanges())
		m.agents[q.Host].ask(b, q.Question)
		exchanges := b.model.Exchanges()[before:]
		results := toolResults(exchanges)
		line := ""
		for j, r := range results {
			c := calls[(i+j)%len(calls)]
			a := asked{question: q, call: c, further: i >= mainQuestions, result: r.text}
			a.answered = holds(r.text, q.Answer)
			a.said = elsewhere.MatchString(r.text)
			all = append(all, a)
			line += fmt.Sprintf("  %s: %s", c.name, map[bool]string{true: "answered", false: "NOT answered"}[a.answered])
		}
		if len(results) != len(calls) {
			m.Errorf("%s: %d of %d calls have a result", q.ID, len(results), len(calls))
		}
		m.say("%s %s/%s%s", q.ID, q.Host, q.Project, line)
		if !slices.ContainsFunc(questions[:i], func(earlier question) bool { return earlier.Host == q.Host }) {
			m.tokens(q.Host, exchanges)
		}
	}
	return all
}

// marks are the texts that lcm puts around a match.
var marks = strings.NewReplacer("«", "", "»", "")

// holds reports whether a result holds an answer: as it is, or within the
// strings of JSON. Runs of white space are one space, and marks around a match
// do not count.
func holds(result, answer string) bool {
	fold := func(s string) string { return strings.Join(strings.Fields(marks.Replace(s)), " ") }
	for _, s := range append(jsonStrings(result), result) {
		if strings.Contains(fold(s), fold(answer)) {
			return true
		}
	}
	return false
}

// jsonStrings lists the strings of a JSON text, or nothing if it is none. Codex
// writes lines of its own before it.
func jsonStrings(text string) (all []string) {
	var v any
	if at := strings.IndexByte(text, '{'); at < 0 || json.Unmarshal([]byte(text[at:]), &v) != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return all
}

// report prints the figures and checks them.
func (m *questionMachine) report(all []asked) {
	m.Helper()
	m.save(all)
	m.cited(all)
	share := m.shares(all)
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "call\thost\tmain\tfurther\tof another project\tsaid so\tcharacters\tcontent")
	for _, c := range calls {
		total := map[string][2]int{}
		for _, host := range []string{"claude", "codex", "opencode", "all"} {
			n := map[string][2]int{}
			characters, content, results := 0, 0, 0
			for i, a := range all {
				if a.call.name != c.name || host != "all" && a.Host != host {
					continue
				}
				count := func(what string, ok bool) {
					v := n[what]
					v[1]++
					if ok {
						v[0]++
					}
					n[what] = v
				}
				count(map[bool]string{false: "main", true: "further"}[a.further], a.answered)
				if a.Elsewhere {
					count("elsewhere", a.answered)
					count("said", a.answered && a.said)
				}
				results++
				characters += share[i].characters
				content += share[i].content
			}
			of := func(what string) string { return fmt.Sprintf("%d of %d", n[what][0], n[what][1]) }
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%.0f %%\n", c.name, host, of("main"), of("further"), of("elsewhere"), of("said"), characters/max(results, 1), 100*float64(content)/float64(max(characters, 1)))
			if host == "all" {
				total = n
			} else if s := float64(content) / float64(max(characters, 1)); s < wantShare {
				m.Errorf("%s in %s: %.0f %% of what the model sees is content, want %.0f %%", c.name, host, 100*s, 100*wantShare)
			}
		}
		if total["main"][0] < wantMain || total["further"][0] < wantFurther || total["said"][0] < total["elsewhere"][1]-1 {
			m.Errorf("%s: %v of the main questions (want %d), %v of the further ones (want %d), %v said to be of another project", c.name, total["main"], wantMain, total["further"], wantFurther, total["said"])
		}
	}
	if err := w.Flush(); err != nil {
		m.Fatal(err)
	}
	m.Logf("what the tools answer with default arguments\n%s", out.String())
}

// cited checks that no result names a message that nobody wants to find: the
// question itself, what lcm's tools have answered before, or what a host has
// noted for itself.
func (m *questionMachine) cited(all []asked) {
	m.Helper()
	type stored struct {
		text  string
		flags store.Flag
	}
	record := map[string]stored{}
	m.each(func(msg store.Message) {
		record[fmt.Sprintf("msg_%d", msg.ID)] = stored{strings.Trim(msg.Body.PlainText(), "\" \n"), msg.Flags}
	})
	for _, a := range all {
		ids := messageID.FindAllString(a.result, -1)
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			switch r, ok := record[id]; {
			case !ok:
				m.Errorf("%s %s: %s is not in the record", a.ID, a.call.name, id)
			case r.text == a.Question:
				m.Errorf("%s %s: %s is the question itself", a.ID, a.call.name, id)
			case r.flags&store.FlagEcho != 0:
				m.Errorf("%s %s: %s is what lcm itself has answered: %.100s", a.ID, a.call.name, id, r.text)
			case r.flags&(store.FlagHidden|store.FlagSynthetic) != 0:
				m.Errorf("%s %s: %s is a note of the host: %.100s", a.ID, a.call.name, id, r.text)
			}
		}
	}
}

// save writes every result to a file, for whoever wants to know why.
func (m *questionMachine) save(all []asked) {
	var out strings.Builder
	for _, a := range all {
		fmt.Fprintf(&out, "=== %s %s in %s/%s: answered %v, said to be of another project %v (is: %v)\nquestion: %s\nkeyword: %s\nquery: %s\nanswer: %s (%s)\n%s\n\n", a.ID, a.call.name, a.Host, a.Project, a.answered, a.said, a.Elsewhere, a.Question, a.Keyword, a.Query, a.Answer, a.Session, a.result)
	}
	path, err := filepath.Abs(filepath.Join("cache", "questions.txt"))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(out.String()), 0o644)
	}
	if err != nil {
		m.Fatal(err)
	}
	m.Logf("every result is in %s", path)
}
