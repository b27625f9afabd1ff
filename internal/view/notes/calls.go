package notes

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/record"
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
	Plan     json.RawMessage `json:"plan"` // steps, or a text
	Input    string          `json:"input"`
	Patch    string          `json:"patch"`
	Content  string          `json:"content"`
	FileText string          `json:"file_text"`
	Edits    []replacement   `json:"edits"`
	replacement
}

// replacement is a text and what stands for it, under the names that hosts use.
type replacement struct {
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	OldCamel string `json:"oldString"`
	NewCamel string `json:"newString"`
	OldText  string `json:"oldText"`
	NewText  string `json:"newText"`
	OldStr   string `json:"old_str"`
	NewStr   string `json:"new_str"`
}

type todo struct {
	Content string `json:"content"`
	Step    string `json:"step"`
	Status  string `json:"status"`
}

func parse(c *llms.ToolCall) (a arguments) {
	// Arguments that are not JSON, such as a patch, have no fields.
	_ = json.Unmarshal([]byte(c.Arguments), &a)
	return a
}

// call notes what a call changes.
func (f *finder) call(seq int64, c *llms.ToolCall) {
	made := call{name: c.Name, command: Command(c), first: len(f.lines)}
	defer func() {
		made.last = len(f.lines)
		f.calls[c.ID] = made
	}()
	if changed := Changed(c); len(changed) > 0 {
		f.add(Files, seq, strings.Join(changed, ", "))
		if text := added(c); text != "" {
			f.add(Edit, seq, path.Base(changed[len(changed)-1])+": "+text)
		}
	}
	name := toolName(c.Name)
	if name != "exitplanmode" && !slices.Contains(planTools, name) {
		return
	}
	a := parse(c)
	var text string
	if json.Unmarshal(a.Plan, &text) != nil {
		text = openSteps(a)
	}
	f.add(Plan, seq, text)
}

// OpenStep begins each open step of a plan.
const OpenStep = "[ ] "

// openSteps lists the steps of a plan that are not done. A plan without open steps
// replaces the plan before it.
func openSteps(a arguments) string {
	var steps []todo
	_ = json.Unmarshal(a.Plan, &steps)
	steps = append(a.Todos, steps...)
	var open []string
	for _, t := range steps {
		if text := t.Content + t.Step; text != "" && t.Status != "completed" && t.Status != "cancelled" {
			open = append(open, OpenStep+text)
		}
	}
	if len(open) == 0 && len(steps) > 0 {
		return "all steps are done"
	}
	return strings.Join(open, "; ")
}

// Command returns the command line that a call runs, or "".
func Command(c *llms.ToolCall) string {
	if !slices.Contains(shellTools, toolName(c.Name)) {
		return ""
	}
	a := parse(c)
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

var patchFile = lazyregexp.New(`(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: )([^\n"\\]+)`)

// Changed lists the files that a call changes.
func Changed(c *llms.ToolCall) []string {
	var all []string
	for _, m := range patchFile().FindAllStringSubmatch(strings.ReplaceAll(c.Arguments, `\n`, "\n"), -1) {
		all = append(all, strings.TrimSpace(m[1]))
	}
	if !slices.Contains(changeTools, toolName(c.Name)) {
		return all
	}
	a := parse(c)
	if p := cmp.Or(a.FilePath, a.Camel, a.Notebook, a.Path, a.Filename); p != "" {
		all = append(all, path.Clean(p))
	}
	return all
}

// Change is a part of a file that a call changed: the lines before and after. A file that was
// written whole has none before.
type Change struct {
	File     string
	Old, New []string
}

// Changes lists what a call changes.
func Changes(c *llms.ToolCall) (all []Change) {
	a := parse(c)
	files := Changed(c)
	if len(files) == 0 {
		return nil
	}
	if patch := patchText(c, a); patch != "" {
		return patchEdits(patch)
	}
	for _, r := range append([]replacement{a.replacement, {New: a.Content + a.FileText}}, a.Edits...) {
		old, text := r.Old+r.OldCamel+r.OldText+r.OldStr, r.New+r.NewCamel+r.NewText+r.NewStr
		if old == "" && text == "" {
			continue
		}
		e := Change{File: files[0], New: strings.Split(text, "\n")}
		if old != "" {
			e.Old = strings.Split(old, "\n")
		}
		all = append(all, e)
	}
	return all
}

// patchText returns the patch that a call applies, or "".
func patchText(c *llms.ToolCall, a arguments) string {
	const begin = "*** Begin Patch"
	for _, text := range []string{a.Input, a.Patch, Command(c), c.Arguments} {
		if i := strings.Index(text, begin); i >= 0 {
			return text[i:]
		}
	}
	return ""
}

// patchEdits lists the hunks of a patch.
func patchEdits(patch string) (all []Change) {
	file := ""
	for line := range strings.SplitSeq(patch, "\n") {
		if m := patchFile().FindStringSubmatch(line); m != nil {
			file = strings.TrimSpace(m[1])
			all = append(all, Change{File: file})
			continue
		}
		if file == "" || line == "" {
			continue
		}
		e := &all[len(all)-1]
		switch sign, text := line[0], line[1:]; sign {
		case '@':
			all = append(all, Change{File: file})
		case '+':
			e.New = append(e.New, text)
		case '-':
			e.Old = append(e.Old, text)
		case ' ':
			e.Old, e.New = append(e.Old, text), append(e.New, text)
		}
	}
	return slices.DeleteFunc(all, func(e Change) bool { return e.Old == nil && e.New == nil })
}

// added returns the lines that a change adds to a file, up to maxAdded bytes: those that are
// indented least, because they are headings and declarations.
func added(c *llms.ToolCall) string {
	was := map[string]bool{}
	edits := Changes(c)
	for _, e := range edits {
		for _, line := range e.Old {
			was[strings.TrimSpace(line)] = true
		}
	}
	var lines []string
	for _, e := range edits {
		for _, line := range e.New {
			if trimmed := strings.TrimSpace(line); !was[trimmed] && strings.ContainsFunc(trimmed, unicode.IsLetter) {
				lines = append(lines, strings.TrimRight(line, "\r"))
			}
		}
	}
	indent := func(i int) int { return len(lines[i]) - len(strings.TrimLeft(lines[i], " \t")) }
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(indent(i), indent(j)) })
	room := maxAdded
	for n, i := range order {
		if room -= len(strings.TrimSpace(lines[i])) + 1; room < 0 {
			order = order[:max(n, 1)]
			break
		}
	}
	slices.Sort(order)
	var b strings.Builder
	for _, i := range order {
		b.WriteString(strings.TrimSpace(lines[i]) + "\n")
	}
	return Clip(oneLine(b.String()), maxAdded)
}

// maxAdded bounds what is noted of a change.
const maxAdded = 240

var (
	exitCode = lazyregexp.New(`(?i)\b(?:exit code:?|exited with code|exit status:?|exit_code["']?:)\s*(-?\d+)`)
	badLine  = lazyregexp.New(`(?im)^.*(?:--- FAIL|^FAIL\b|\bpanic:|\bfatal:|\berror\b|\bnot found\b|\bundefined\b|\bcannot\b|\bdenied\b|\bfailed\b|Traceback|Exception).*$`)
	logged   = lazyregexp.New(`^([0-9a-f]{7,40}) (?:\([^)]*\) )?(.+)`)
	commited = lazyregexp.New(`(?m)^\[\S+ (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$`)
)

// looking matches commands that change nothing, and say little about the work.
var looking = lazyregexp.New(`^(?:cd \S+ && )?(?:ls|ll|pwd|cat|head|tail|less|sed -n|awk|rg|grep|find|fd|tree|wc|which|echo|env|date|stat|file|du|git (?:status|log|diff|show|branch|blame))\b`)

// Bad reports whether a line of an output tells of an error.
func Bad(line string) bool { return badLine().MatchString(line) }

// Looks reports whether a command line only looks at something.
func Looks(line string) bool { return looking().MatchString(line) }

// Gave stands between a command and the line of its output, in notes of both.
const Gave = " → "

// maxSeen bounds how much of an output is noted. That of a command that only looks is noted
// if it is shorter, or says how the repository stands.
const (
	maxSeen    = 240
	maxCommand = 80
)

// maxOutput bounds how much of a result is read, half from each end, in bytes.
const maxOutput = 16 << 10

// result notes commits, failures and what the user said in the place of a result.
func (f *finder) result(s *record.SummarySource, r *llms.ToolResult) {
	c := f.calls[r.CallID]
	text := output(r)
	if r.IsError {
		clear(f.lines[c.first:c.last]) // it changed nothing
	}
	if s.Format == llms.FormatClaude {
		if words := userWords(c.name, r.IsError, text); words != "" {
			f.add(User, s.Seq, words)
			return
		}
	}
	if c.command == "" {
		return
	}
	what := Purpose(c.command)
	failed := r.IsError
	if !failed && s.Format != llms.FormatClaude { // Claude Code marks failures
		m := exitCode().FindStringSubmatch(text)
		failed = m != nil && m[1] != "0"
	}
	f.failed = slices.DeleteFunc(f.failed, func(x failure) bool { return x.purpose == what })
	if failed {
		detail := strings.TrimSpace(badLine().FindString(text))
		if detail == "" {
			detail = strings.TrimSpace(text)
		}
		if line, omitted := clean(Clip(oneLine(c.command), 160)+Gave+Clip(oneLine(detail), 200), true); line != "" && !omitted {
			f.failed = append(f.failed, failure{Line{Failed, s.Seq, line}, what})
			f.add(Saw, s.Seq, line)
		}
		return
	}
	if strings.Contains(c.command, "git commit") || strings.Contains(c.command, "git cherry-pick") {
		made := commited().FindAllStringSubmatch(text, -1)
		if m := logged().FindStringSubmatch(text); m != nil && made == nil && strings.Contains(c.command, "git log") {
			made = [][]string{m}
		}
		for _, m := range made {
			f.commit(s.Seq, m[1], m[2])
		}
		if len(made) > 0 {
			return
		}
	}
	kind := Ran
	if Looks(c.command) {
		kind = Saw
	}
	if shown := oneLine(text); kind == Ran || len(shown) <= maxSeen || strings.Contains(c.command, "git ") {
		f.add(kind, s.Seq, Clip(oneLine(afterCd(c.command)), maxCommand)+Gave+Clip(shown, maxSeen))
	}
}

// commit notes a commit that is not noted yet.
func (f *finder) commit(seq int64, hash, subject string) {
	if !slices.ContainsFunc(f.lines, func(l Line) bool { return l.Kind == Commit && strings.HasPrefix(l.Text, hash[:7]) }) {
		f.add(Commit, seq, hash+" "+subject)
	}
}

func output(r *llms.ToolResult) string {
	var b strings.Builder
	for _, p := range r.Output {
		b.WriteString(p.Text)
		b.WriteByte('\n')
	}
	text := b.String()
	if len(text) > maxOutput {
		text = text[:maxOutput/2] + "\n" + text[len(text)-maxOutput/2:]
	}
	return strings.ToValidUTF8(text, "")
}

// userWords returns what the user said to Claude Code in the place of a result: the
// reason for which a call was refused, and the answers to the assistant's questions. The
// error of a server can have any text, so the refusal of its call is not read.
func userWords(tool string, isError bool, text string) string {
	const refused = "The user doesn't want to proceed with this tool use."
	const reason = "the user said:\n"
	if answers, ok := strings.CutPrefix(text, "User has answered your questions: "); ok && !isError && tool == "AskUserQuestion" {
		answers, _, _ = strings.Cut(answers, "You can now continue")
		return answers
	}
	if isError && tool != "" && !strings.HasPrefix(tool, "mcp__") && strings.HasPrefix(text, refused) {
		if _, words, ok := strings.Cut(text, reason); ok {
			words, _, _ = strings.Cut(words, "\n\nNote: The user's next message")
			return words
		}
	}
	return ""
}

// afterCd returns a command line without the change of directory before it.
func afterCd(line string) string {
	if _, after, ok := strings.Cut(line, " && "); ok && strings.HasPrefix(line, "cd ") {
		return after
	}
	return line
}

// Purpose returns the program and its first word: with other flags it is another try.
func Purpose(line string) string {
	line = afterCd(line)
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

func number(n int64) string { return strconv.FormatInt(n, 10) }
