package brief

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The names of tools that agents are known to use, in lower case and without a prefix.
var (
	shellTools = []string{"bash", "shell", "exec_command", "exec", "local_shell", "local_shell_call", "run_command", "execute_command",
		"run_terminal_cmd", "run_shell_command", "terminal", "powershell", "run_commands"}
	changeTools = []string{"edit", "write", "multiedit", "notebookedit", "edit_file", "write_file", "create_file", "update_file", "append_file",
		"str_replace", "str_replace_editor", "str_replace_based_edit_tool", "apply_patch", "patch", "replace", "insert", "delete_file"}
	planTools = []string{"todowrite", "update_plan", "todo_write", "write_todos"}
)

// toolName returns the name of a tool without its server or namespace.
func toolName(name string) string {
	name = strings.ToLower(name)
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// arguments are the arguments of calls that matter here, under the names that hosts use.
type arguments struct {
	Command  json.RawMessage `json:"command"`
	Cmd      json.RawMessage `json:"cmd"`
	Commands []string        `json:"commands"`
	Path     string          `json:"path"`
	FilePath string          `json:"file_path"`
	Camel    string          `json:"filePath"`
	Notebook string          `json:"notebook_path"`
	Filename string          `json:"filename"`
	Todos    []todo          `json:"todos"`
	Plan     []todo          `json:"plan"`
}

type todo struct {
	Content string `json:"content"`
	Step    string `json:"step"`
	Status  string `json:"status"`
}

func parse(call llms.ToolCall) arguments {
	var a arguments
	// Arguments that are not JSON, such as a patch, have no fields.
	_ = json.Unmarshal([]byte(call.Arguments), &a)
	return a
}

// commandLine returns the command that a call runs, or "".
func commandLine(call llms.ToolCall) string {
	if !slices.Contains(shellTools, toolName(call.Name)) {
		return ""
	}
	a := parse(call)
	for _, raw := range []json.RawMessage{a.Command, a.Cmd} {
		var line string
		var words []string
		switch {
		case raw == nil:
		case json.Unmarshal(raw, &line) == nil:
			return line
		case json.Unmarshal(raw, &words) == nil && len(words) > 0:
			if len(words) == 3 && strings.HasPrefix(words[1], "-") { // bash -lc "…"
				return words[2]
			}
			return strings.Join(words, " ")
		}
	}
	return strings.Join(a.Commands, "; ")
}

// commands returns all commands that were run, oldest first.
func commands(said []store.Message, agent string) []Command {
	answers := map[string]llms.ToolResult{} // by the id of the call
	for _, m := range said {
		for _, r := range m.Body.ToolResults() {
			answers[r.CallID] = r
		}
	}
	agent, _, _ = strings.Cut(agent, " (") // and the machine, of a session that came by lcm sync
	host, err := all.Named[hosts.Host](agent)
	marked := err == nil && host.About().MarksFailures
	var ran []Command
	for _, m := range said {
		for _, call := range m.Body.ToolCalls() {
			line := strings.TrimSpace(commandLine(call))
			if line == "" {
				continue
			}
			c := Command{ID: m.ID, Line: line}
			if r, ok := answers[call.ID]; ok {
				c.Outcome, c.Detail = outcome(r, marked)
			}
			ran = append(ran, c)
		}
	}
	return ran
}

var (
	exitCode  = lazyregexp.New(`(?i)\b(?:exit code:?|exited with code|exit status:?|exit_code["']?:)\s*(-?\d+)`)
	badLine   = lazyregexp.New(`(?i)^\s*(?:--- FAIL|FAIL\b|panic:|fatal:|error:|error\[|error TS|E\s{2,}|\S+: error:|make: \*\*\*|npm ERR!|Traceback|AssertionError|bash: .*(?:not found|No such file)|Exception(?: in|:))`)
	worseLine = lazyregexp.New(`(?i)(?:\berror\b|\bfailed\b|\bfailure\b|\bundefined\b|\bcannot\b|\bpanic\b|not found|exception|\bwant\b|\bexpected\b)`)
	goodLine  = lazyregexp.New(`^\s*(?:ok\s|PASS\b|Success|BUILD SUCCESS|All checks passed|=* ?\d+ passed)`)
	// frame matches the lines that hosts write around the output of a command.
	frame = lazyregexp.New(`(?i)^(?:Chunk ID|Wall time|Process exited with code|Original token count|Output|Exit code|Total output lines)\b.*$`)
)

const maxOutput = 64 << 10 // bytes of a result that are read, half from each end

// outcome returns how a command ended, and the most informative line of its output.
func outcome(r llms.ToolResult, reported bool) (Outcome, string) {
	var b strings.Builder
	for _, p := range r.Output {
		b.WriteString(p.Text)
		b.WriteByte('\n')
	}
	text := b.String()
	if len(text) > maxOutput {
		text = text[:maxOutput/2] + "\n" + text[len(text)-maxOutput/2:]
	}
	how := Unknown
	if reported {
		how = Succeeded
	}
	if !reported {
		if m := exitCode().FindStringSubmatch(text); m != nil {
			if how = Succeeded; m[1] != "0" {
				how = Failed
			}
		}
	}
	if r.IsError {
		how = Failed
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if how == Unknown { // the expressions below are slow
		switch {
		case first(lines, badLine()) != "":
			how = Failed
		case first(lines, goodLine()) != "":
			how = Succeeded
		}
	}
	if how == Failed {
		if line := cmp.Or(first(lines, badLine()), first(lines, worseLine())); line != "" {
			return how, line
		}
	}
	for _, line := range slices.Backward(lines) {
		if !frame().MatchString(line) {
			return how, line
		}
	}
	return how, ""
}

// first returns the first line that matches and is not part of the host's frame.
func first(lines []string, what *regexp.Regexp) string {
	i := slices.IndexFunc(lines, func(line string) bool { return what.MatchString(line) && !frame().MatchString(line) })
	if i < 0 {
		return ""
	}
	return lines[i]
}

// commits reports whether a command made a commit.
func (c Command) commits() bool {
	return strings.Contains(c.Line, "git commit") && c.Outcome != Failed
}

// looking matches commands that change nothing, and say little about the work.
var looking = lazyregexp.New(`^(?:cd|ls|ll|pwd|cat|head|tail|less|sed -n|awk|rg|grep|find|fd|tree|wc|which|echo|env|date|stat|file|du|git (?:status|log|diff|show|branch|blame))\b`)

// checking matches commands that check something and change nothing of interest.
var checking = lazyregexp.New(`^(?:go (?:version|build|test|vet|env|list)|cargo (?:build|test|check|clippy)|(?:npm|pnpm|yarn|bun) (?:(?:run )?(?:test|build|lint)|ls|outdated)|` +
	`make(?: (?:test|build|lint|check|all))?$|pytest|python3? -m pytest|tsc|ruff|mypy|git (?:fetch|remote|rev-parse)|docker (?:ps|images|logs)|kubectl (?:get|describe|logs)|` +
	`curl -[sI]+|\S+ (?:--version|-version|-v|version)$)(?:\s|$)`)

var (
	between   = lazyregexp.New(`&&|\|\||[;|\n]`)
	toNothing = lazyregexp.New(`2>&1|[12&]?>\s*/dev/null`)
)

// changesNothing reports whether every part of a command line only looks or checks.
func changesNothing(line string) bool {
	line = toNothing().ReplaceAllString(line, "")
	if strings.Contains(line, ">") {
		return false // it writes a file
	}
	return !slices.ContainsFunc(between().Split(line, -1), func(part string) bool {
		part = strings.TrimSpace(part)
		return part != "" && !looking().MatchString(part) && !checking().MatchString(part)
	})
}

// lastCommands returns the last commands worth showing, and always the very last.
func lastCommands(ran []Command) []Command {
	var kept []Command
	for i, c := range slices.Backward(ran) {
		repeated := slices.ContainsFunc(kept, func(l Command) bool { return l.Line == c.Line })
		if i < len(ran)-1 && (looking().MatchString(c.Line) && c.Outcome != Failed || repeated) {
			continue
		}
		if kept = append(kept, c); len(kept) == keepCommands {
			break
		}
	}
	slices.Reverse(kept)
	return kept
}

// failing returns the commands that failed lately and have not succeeded since, newest
// first. It skips failures that are already listed, by command or by output.
func failing(said []store.Message, ran []Command, since *later) []Command {
	var all []Command
	handled := map[string]bool{}
	long := said[max(0, len(said)-fresh):]
	if len(long) > 0 {
		for what, at := range since.succeeded {
			handled[what] = at.After(said[len(said)-1].Body.Time)
		}
	}
	for _, c := range slices.Backward(ran) {
		if c.ID < long[0].ID {
			break
		}
		what := purpose(c.Line)
		if handled[what] || c.Outcome == Unknown {
			continue
		}
		handled[what] = true
		if c.Outcome == Failed && !looking().MatchString(c.Line) && len(all) < keepFailing && !since.failed[c.Detail] && !since.failed[what] {
			all = append(all, c)
			since.failed[what], since.failed[c.Detail] = true, c.Detail != ""
		}
	}
	return all
}

// purpose returns the program and its first word: with other flags it is another try.
func purpose(line string) string {
	if _, after, ok := strings.Cut(line, " && "); ok && strings.HasPrefix(line, "cd ") {
		line = after
	}
	var kept []string
	for _, w := range strings.Fields(line) {
		if strings.Contains(w, "=") && len(kept) == 0 {
			continue // a variable before the program
		}
		if strings.HasPrefix(w, "-") || len(kept) == 2 {
			break
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, " ")
}

// fresh is how many messages back a failure counts.
const fresh = 100

var patchFile = lazyregexp.New(`(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: )([^\n"\\]+)`)

// files returns the files that the agent changed, uncommitted ones first, then the latest.
// since is the time of the last commit in any session.
func files(said []store.Message, ran []Command, since time.Time) []File {
	committed := store.MessageID(0)
	for _, c := range ran {
		if c.commits() {
			committed = c.ID
		}
	}
	byPath := map[string]*File{}
	for _, m := range said {
		for _, call := range m.Body.ToolCalls() {
			for _, p := range changed(call) {
				f := byPath[p]
				if f == nil {
					f = &File{Path: p}
					byPath[p] = f
				}
				f.Changes++
				f.Last, f.Committed = m.ID, m.ID < committed || m.Body.Time.Before(since)
			}
		}
	}
	all := make([]File, 0, len(byPath))
	for _, f := range byPath {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(x, y File) int {
		return cmp.Or(compare(x.Committed, y.Committed), cmp.Compare(y.Last, x.Last), strings.Compare(x.Path, y.Path))
	})
	for i, f := range all {
		if f.Committed && i >= keepCommitted {
			return all[:i]
		}
	}
	return all[:min(len(all), keepFiles)]
}

// changed lists the files that a call changes.
func changed(call llms.ToolCall) []string {
	var all []string
	for _, m := range patchFile().FindAllStringSubmatch(strings.ReplaceAll(call.Arguments, `\n`, "\n"), -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	if !slices.Contains(changeTools, toolName(call.Name)) {
		return all
	}
	a := parse(call)
	if p := cmp.Or(a.FilePath, a.Camel, a.Notebook, a.Path, a.Filename); p != "" {
		all = append(all, path.Clean(p))
	}
	return all
}

// plan returns the open steps of the agent's last plan.
func plan(said []store.Message) []Step {
	for _, m := range slices.Backward(said) {
		for _, call := range slices.Backward(m.Body.ToolCalls()) {
			if !slices.Contains(planTools, toolName(call.Name)) {
				continue
			}
			a := parse(call)
			var open []Step
			for _, t := range append(a.Todos, a.Plan...) {
				if text := t.Content + t.Step; text != "" && t.Status != "completed" && t.Status != "cancelled" {
					open = append(open, Step{Text: text, Doing: t.Status == "in_progress"})
				}
			}
			return open
		}
	}
	return nil
}
