package solved

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/view/notes"
	"github.com/lossless-context/lcm/llms"
)

// forms match the lines with which programs refuse how they were called, or miss something on
// the machine. A line about the code, which a test, a linter or a compiler prints, has none of
// them. TestCauses has a line for each.
var forms = lazyregexp.New(`(?i)` + strings.Join([]string{
	`\b(?:unknown|unrecognized|unsupported|invalid|illegal|unexpected|ambiguous) (?:shorthand |command[- ]line )?(?:flag|option|argument|switch|subcommand|command)s?\b`,
	`\bflag provided but not defined\b|\b(?:flag|option) (?:needs|requires) an? argument\b|\brequired (?:flag|option|argument)|\bargument(?:\(s\)|s)? (?:are|is|were|was) required\b|\baccepts (?:at (?:most|least) |between )?\d+ `,
	`^usage: `,
	`\bcommand not found\b|: not found$|\bis not recognized as\b|\bexecutable file not found\b|\bspawn \S+ ENOENT\b`,
	`\bno module named\b|\bcannot find (?:module|package|main module)\b|\bcould not (?:find|resolve) (?:module|package|dependency)|\bupdates to go\.mod needed\b|\bmissing go\.sum entry\b|\bcannot write multiple packages\b`,
	`\bpermission denied\b|\boperation not permitted\b|\baccess is denied\b|\bread-only file system\b|\bE(?:ACCES|PERM|ROFS)\b`,
	`\baddress already in use\b|\bEADDRINUSE\b|\bport \S+ is (?:already )?(?:in use|allocated)|\bconnection refused\b|\bECONNREFUSED\b|\bcould not resolve host\b|\bENOTFOUND\b`,
	`\bparse error near\b|\bsyntax error near\b|\bno matches found: |\bevent not found\b|\bbad substitution\b|\bunexpected EOF while looking\b`,
	`^jq: error|\bfailed to parse jq\b`,
	`\(HTTP 4\d\d\)|\bHTTP error 4\d\d\b|\b401 unauthorized\b|\b403 forbidden\b|\bauthentication (?:failed|required)\b|\bbad credentials\b|\bcould not read username\b|\bnot logged in\b`,
	`\bnot a git repository\b|\bdubious ownership\b|\bambiguous argument\b|\bbad revision\b|\binvalid reference\b|\bpathspec .* did not match\b|\bcannot be used (?:with|together)\b|\bmutually exclusive\b|\bmust be (?:run|used|called|given|specified)\b|\binput must be provided\b`,
}, "|"))

var (
	inCode = lazyregexp.New(`^\s*[\w./@-]+\.\w{1,5}:\d+(?::\d+)?:?`) // a diagnostic about a line of a file
	tested = lazyregexp.New(`(?m)^\s*(?:--- )?FAIL\b|^\s*(?:not ok|✗|✕) |\b[1-9]\d* (?:failed|failing)\b`)
	ended  = lazyregexp.New(`(?i)\b(?:exit code:?|exited with code|exit status:?|exit_code["']?:)\s*(-?\d+)`)

	label = lazyregexp.New(`^(?i:output|error|stderr): `) // of a host or a program, before the line itself

	urlOrPath = lazyregexp.New(`\w+://\S+|(?:~|\.{1,2}|\b[\w.@-]+)?/[\w./@~+-]+`)
	hash      = lazyregexp.New(`\b[0-9a-f]{7,40}\b`)
	number    = lazyregexp.New(`\d+`)
	quotation = lazyregexp.New("['\"`‘’“”]")
)

// Bounds of the lines of an output in which a cause is looked for.
const (
	headLines = 40
	tailLines = 20
	maxLine   = 300
)

// gap stands for what differs between two runs in the cause of a failure.
const gap = "\x00"

// causeOf returns the line of an output that tells why a call was refused, without what differs
// from run to run, or "".
func causeOf(output string) string {
	if tested().MatchString(output) {
		return ""
	}
	lines := strings.Split(output, "\n")
	if len(lines) > headLines+tailLines {
		lines = slices.Concat(lines[:headLines], lines[len(lines)-tailLines:])
	}
	for _, line := range lines {
		line = label().ReplaceAllString(strings.TrimSpace(line), "")
		if len(line) > maxLine || !forms().MatchString(line) || inCode().MatchString(line) {
			continue
		}
		return plain(line)
	}
	return ""
}

// plain takes out of a line what differs from run to run.
func plain(line string) string {
	line = urlOrPath().ReplaceAllString(quotation().ReplaceAllString(line, ""), gap)
	return strings.Join(strings.Fields(withoutNumbers(line)), " ")
}

func withoutNumbers(s string) string {
	return number().ReplaceAllString(hash().ReplaceAllString(s, gap), gap)
}

// literal returns the longest part of a cause that a search can look for as it stands. The
// quotation marks of the output are not in it, so that one word may have them on both sides.
func literal(cause string) string {
	best := ""
	for part := range strings.SplitSeq(cause, gap) {
		if part = strings.TrimSpace(part); len(part) > len(best) {
			best = part
		}
	}
	return best
}

// pattern is the expression that finds the outputs with a literal.
func pattern(text string) string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		words = append(words, regexp.QuoteMeta(word))
	}
	return strings.Join(words, "[\\s'\"`‘’“”]+")
}

// attempt is a call of a tool, with its result.
type attempt struct {
	call   llms.ToolCall
	line   string // the command line, of a shell
	args   map[string]any
	failed bool
	cause  string
}

// try returns the attempt that a call and its output are. Where neither failed nor an exit code
// in the output says that it failed, it did if the output begins with a cause that names what
// was called.
func try(call llms.ToolCall, output string, failed bool) attempt {
	a := attempt{call: call, line: notes.Command(&call), failed: failed}
	if m := ended().FindStringSubmatch(output); m != nil {
		a.failed = failed || m[1] != "0"
	} else if !failed && a.line != "" {
		first, _, _ := strings.Cut(strings.TrimSpace(output), "\n") // a file that is shown has it further below
		a.failed = named(commands(a.line), causeOf(first)) != nil
	}
	if a.line == "" && strings.HasPrefix(call.Name, "mcp__") {
		_ = json.Unmarshal([]byte(call.Arguments), &a.args) // what is no object has none
	}
	if a.failed {
		a.cause = a.causeIn(output)
	}
	return a
}

// causeIn returns the cause in the output of a call: of a command a line of a known form, of a tool
// of an MCP server its first line.
func (a attempt) causeIn(output string) string {
	if a.line != "" {
		return causeOf(output)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if a.args == nil || len(first) > maxLine || strings.HasPrefix(first, rejected) {
		return ""
	}
	return plain(first)
}

// rejected begins what Claude Code says of a call that the user did not allow.
const rejected = "The user doesn't want"
