package summary

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// taskFiles name the instructions by depth; the last is for depth 3 and deeper.
var taskFiles = []string{"leaf", "d1", "d2", "d3"}

// render returns the prompts of one request.
func render(r Request, nonce, custom string) (system, user string, err error) {
	set := map[string]string{
		"Nonce": nonce, "Target": strconv.Itoa(r.Target), "Material": transcript(r.Sources, nonce),
		"Custom": custom, "Previous": unmarked(strings.TrimSpace(r.Previous), nonce),
	}
	fill := func(name string) string {
		text, readErr := promptFiles.ReadFile("prompts/" + name + ".md")
		err = errors.Join(err, readErr)
		pairs := make([]string, 0, 2*len(set))
		for key, value := range set {
			pairs = append(pairs, "{{."+key+"}}", value)
		}
		// A Replacer does not read its own output: a source that spells a
		// placeholder stays as it is.
		return strings.NewReplacer(pairs...).Replace(strings.TrimSpace(string(text)))
	}
	parts := []string{fill(taskFiles[min(max(r.Depth, 0), len(taskFiles)-1)])}
	if r.Level == Aggressive {
		parts = append(parts, fill("aggressive"))
	}
	if custom != "" {
		parts = append(parts, fill("custom"))
	}
	parts = append(parts, fill("target"))
	if set["Previous"] != "" {
		parts = append(parts, fill("previous"))
	}
	parts = append(parts, fill("material"))
	return fill("system"), strings.Join(parts, "\n\n"), err
}

// transcript writes the sources, each with its speaker and its time: without the role,
// the output of a tool can pass for a wish of the user. A source cannot forge the marker
// in these lines.
func transcript(sources []Source, nonce string) string {
	var b strings.Builder
	for i, s := range sources {
		if i > 0 {
			b.WriteString("\n\n")
		}
		who := string(s.Role)
		if s.Kind != "" {
			who = string(s.Kind) + " summary"
		}
		fmt.Fprintf(&b, "[%s %s | %s", nonce, s.ID, who)
		if s.Seq > 0 {
			fmt.Fprintf(&b, " | #%d", s.Seq)
		}
		if !s.Time.IsZero() {
			fmt.Fprintf(&b, " | %s", s.Time.UTC().Format(time.RFC3339))
		}
		b.WriteString("]\n")
		b.WriteString(unmarked(s.Text, nonce))
	}
	return b.String()
}

// unmarked makes sure that text cannot hold the marker that ends it.
func unmarked(text, nonce string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), nonce, "[marker removed]")
}
