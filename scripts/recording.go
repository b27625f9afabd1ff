//go:build ignore

// Recording runs lcm as a user of Claude Code would, in a home of its own, and writes what the
// terminal shows as an SVG. The session is the bundled one, in the form of Claude Code. The program
// fails where a command does.
//
//	go run scripts/recording.go LCM OUT.svg
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

const session = "7b1f0c52-3a64-4d19-9d0e-5f2c8a9b6e31"

// The commands, in order.
var commands = []string{
	"lcm import claude",
	"lcm ask 'When is a webhook job moved to the dead letter table?' --max-tokens 80",
	"rm ~/.claude/projects/*/*.jsonl   # the agent does this after 30 days",
	"lcm undelete 1",
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: recording LCM OUT.svg"))
	}
	lcm, err := filepath.Abs(os.Args[1])
	check(err)
	home, err := os.MkdirTemp("", "lcm-recording-*")
	check(err)
	defer os.RemoveAll(home)
	project := filepath.Join(home, "trackd")
	check(os.Mkdir(project, 0o700))
	inName := strings.NewReplacer("/", "-", ".", "-")
	transcript(filepath.Join(home, ".claude", "projects", inName.Replace(project)), project)
	shorter := strings.NewReplacer(home, "~", inName.Replace(home), "-home-ann")
	var shown []string
	for _, line := range commands {
		shown = append(shown, "$ "+line)
		c := exec.Command("sh", "-c", line)
		c.Dir = project
		c.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(lcm) + ":/usr/bin:/bin", "TERM=dumb", "TZ=UTC", "COLUMNS=100"}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			fail(fmt.Errorf("%s: %w\n%s", line, err, out.Bytes()))
		}
		for l := range strings.Lines(shorter.Replace(out.String())) {
			shown = append(shown, strings.TrimRight(l, "\n"))
		}
	}
	fmt.Println(strings.Join(shown, "\n"))
	check(os.WriteFile(os.Args[2], draw(shown), 0o644))
}

// transcript writes the bundled session as Claude Code writes one.
func transcript(dir, project string) {
	check(os.MkdirAll(dir, 0o700))
	var b bytes.Buffer
	var before any
	for i, m := range sample.Messages() {
		if m.Role == llms.RoleSystem {
			continue
		}
		record, err := wire.EncodeAll(llms.FormatAnthropic, []llms.Message{m})
		check(err)
		kind := "user"
		if m.Role == llms.RoleAssistant {
			kind = "assistant"
		}
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		line, err := json.Marshal(map[string]any{"type": kind, "uuid": id, "parentUuid": before, "sessionId": session, "cwd": project, "version": "2.1.326",
			"userType": "external", "isSidechain": false, "timestamp": m.Time.UTC().Format(time.RFC3339Nano), "message": record[0]})
		check(err)
		before = id
		b.Write(append(line, '\n'))
	}
	check(os.WriteFile(filepath.Join(dir, session+".jsonl"), b.Bytes(), 0o600))
}

// draw shows the lines one after the other, and waits before each command and at the end.
func draw(lines []string) []byte {
	const columns, step, rest = 100, 18, 5.0
	var wrapped []string
	for _, l := range lines {
		wrapped = append(wrapped, strings.Split(ansi.Wrap(l, columns, ""), "\n")...)
	}
	at, when := 0.0, make([]float64, len(wrapped))
	for i, l := range wrapped {
		if strings.HasPrefix(l, "$ ") && i > 0 {
			at += 1.5
		}
		at += .15
		when[i] = at
	}
	total := at + rest
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 %d" role="img" aria-label="lcm in a terminal" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">`+"\n", len(wrapped)*step+34)
	b.WriteString("<style>rect{fill:#0d1117}text{fill:#c9d1d9;white-space:pre}.c{fill:#7ee787}@media(prefers-reduced-motion:no-preference){text{animation-duration:" +
		fmt.Sprintf("%.1fs", total) + ";animation-iteration-count:infinite}}\n")
	for i, t := range when {
		p := 100 * t / total
		fmt.Fprintf(&b, "@keyframes l%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}\n", i, p, p+.01)
	}
	b.WriteString("</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\"/>\n")
	for i, l := range wrapped {
		class := ""
		if strings.HasPrefix(l, "$ ") {
			class = ` class="c"`
		}
		fmt.Fprintf(&b, `<text x="16" y="%d"%s style="animation-name:l%d">%s</text>`+"\n", 30+i*step, class, i, html.EscapeString(l))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "recording:", err)
	os.Exit(1)
}
