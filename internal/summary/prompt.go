package summary

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// prompts are the texts that a model is sent, by depth.
type prompts struct {
	system, user *template.Template
	tasks        []string // leaf, d1, d2, d3 and deeper
	aggressive   string
}

func loadPrompts() (*prompts, error) {
	read := func(name string) (string, error) {
		b, err := promptFiles.ReadFile("prompts/" + name + ".md")
		return strings.TrimSpace(string(b)), err
	}
	p := &prompts{}
	for name, to := range map[string]**template.Template{"system": &p.system, "user": &p.user} {
		text, err := read(name)
		if err != nil {
			return nil, err
		}
		if *to, err = template.New(name).Parse(text); err != nil {
			return nil, fmt.Errorf("prompt %s: %w", name, err)
		}
	}
	for _, name := range []string{"leaf", "d1", "d2", "d3"} {
		text, err := read(name)
		if err != nil {
			return nil, err
		}
		p.tasks = append(p.tasks, text)
	}
	var err error
	p.aggressive, err = read("aggressive")
	return p, err
}

// fields are what the templates can use.
type fields struct {
	Nonce, Task, Aggressive, Custom, Previous, Material string
	Target                                              int
}

// render writes the prompts of one request.
func (p *prompts) render(r Request, nonce, custom string) (system, user string, err error) {
	f := fields{
		Nonce: nonce, Task: p.tasks[min(max(r.Depth, 0), len(p.tasks)-1)], Custom: custom, Target: r.Target,
		Previous: unmarked(strings.TrimSpace(r.Previous), nonce), Material: transcript(r.Sources, nonce),
	}
	if r.Level == Aggressive {
		f.Aggressive = p.aggressive
	}
	var s, u strings.Builder
	if err := p.system.Execute(&s, f); err != nil {
		return "", "", err
	}
	if err := p.user.Execute(&u, f); err != nil {
		return "", "", err
	}
	return s.String(), u.String(), nil
}

// transcript writes the sources down, each with who said it and when: without
// the role a tool's output can pass for what the user wants. The marker in
// each of these lines is what a source cannot forge.
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
