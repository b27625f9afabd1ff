//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// The early fact stands in the third log.
const (
	factLog = 2
	fact    = "NOTICE the harbour gate opens with " + needle
)

// logs writes files that the plays print.
func (b *runBed) logs(n, size int) {
	for i := range n {
		var text strings.Builder
		if i == factLog {
			text.WriteString(fact + "\n")
		}
		for line := 0; text.Len() < size; line++ {
			fmt.Fprintf(&text, "%04d-%05d worker=%d queue=q%02d job=%08x state=%s took=%dms\n",
				i, line, (i+line)%7, line%23, uint32((i*7919+line)*2654435761), []string{"done", "retried", "waiting"}[(i+line)%3], (i*31+line*17)%997)
		}
		b.write(filepath.Join(b.work, logName(i)), text.String()[:size])
	}
	picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 {
		picture.Set(i, i, color.RGBA{R: uint8(i * 4), A: 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		b.Fatal(err)
	}
	b.write(filepath.Join(b.work, "picture.png"), out.String())
}

func logName(i int) string { return fmt.Sprintf("logs/%03d.log", i) }

// playName is the name of a play, a number, and letters that make it unique in
// its session: read12b.
var playName = regexp.MustCompile(`^([a-z]+?)(\d*)([a-z]*)$`)

// perform plays the model.
func (b *runBed) perform(s playStep) llmtest.Reply {
	b.note(s)
	time.Sleep(b.pace)
	reply := b.reply(s)
	if b.unreasoned {
		reply.Reasoning = ""
	}
	if b.unspoken && len(reply.Calls) > 0 {
		reply.Text = ""
	}
	return reply
}

func (b *runBed) reply(s playStep) llmtest.Reply {
	m := playName.FindStringSubmatch(s.Play)
	if m == nil {
		return llmtest.Say("There is no play " + s.Play)
	}
	n, _ := strconv.Atoi(m[2]) // 0 where the play has no number
	switch m[1] {
	case "read": // prints n logs
		return reading(s, n)
	case "recall": // prints n logs, then looks for the fact
		return recallingFact(s, n)
	case "parallel": // prints n logs at once, three times
		if s.Number < 3 {
			reply := llmtest.Reply{Reasoning: "All at once."}
			for i := range n {
				reply = shell(s.Request, reply, "head -c 6000 "+logName(s.Number*n+i))
			}
			return reply
		}
		return reading(s, 12)
	case "image": // looks at a picture, then prints n logs
		if s.Number == 0 {
			return look(s.Request, filepath.Join(b.work, "picture.png"))
		}
		return reading(s, n)
	case "agent": // has a sub-agent print n logs, then prints eight
		if reply, ok := delegate(s, fmt.Sprintf("Print the logs. play:read%dsub", n)); ok {
			return reply
		}
		return reading(s, 8)
	case "fault": // the API fails twice with status n at the eighth of ten steps
		if s.Number == 7 && s.Attempt < 2 {
			return llmtest.Status(n, "scripted failure")
		}
		return reading(s, 10)
	case "cut": // the answer breaks off at the eighth of ten steps
		if s.Number == 7 && s.Attempt == 0 {
			return reading(s, 10).Broken(llmtest.FaultCut, 4)
		}
		return reading(s, 10)
	case "halt": // prints n logs, then runs a command that takes minutes
		if s.Number == n {
			return shell(s.Request, llmtest.Reply{Reasoning: "This takes a while.", Text: "This takes a while."}, "sleep 600")
		}
		return reading(s, n)
	case "slow": // the tenth step takes a minute
		if s.Number == 9 {
			return shell(s.Request, llmtest.Reply{Text: "This takes a while."}, "sleep 60")
		}
		return reading(s, 12)
	}
	return llmtest.Say("There is no play " + s.Play)
}

// reading prints one log at each step.
func reading(s playStep, n int) llmtest.Reply {
	if s.Number >= n {
		return llmtest.Say(fmt.Sprintf("That were %d logs.", n))
	}
	reply := llmtest.Reply{Reasoning: fmt.Sprintf("Log %d of %s is next.", s.Number, s.Play), Text: fmt.Sprintf("Reading log %d.", s.Number)}
	return shell(s.Request, reply, "cat "+logName(s.Number))
}

// recallingFact prints one log at each step, then looks for the early fact: with
// lcm_grep where there is one, else in the request.
func recallingFact(s playStep, n int) llmtest.Reply {
	grep := offered(s.Request, "lcm_grep")
	switch {
	case s.Number < n:
		return reading(s, n)
	case s.Number == n && grep == "lcm_grep" && offers(s.Request, toolSearch):
		return llmtest.Call(toolSearch, searchTools)
	case (grep != "lcm_grep" || offers(s.Request, grep)) && (s.Number == n || len(s.Results) > 0 && s.Results[0].Tool == toolSearch):
		return llmtest.Reply{Reasoning: "I have to look it up."}.And(grep, map[string]any{"pattern": "harbour gate"})
	}
	for _, r := range s.Results {
		if strings.Contains(r.Text, needle) {
			return llmtest.Say("The gate opens with " + needle + ", says " + toolOf(r.Tool) + ".")
		}
	}
	for _, m := range s.Request.Messages {
		for _, r := range m.ToolResults() {
			for _, p := range r.Output {
				if strings.Contains(p.Text, fact) {
					return llmtest.Say("The gate opens with " + needle + ", says the log.")
				}
			}
		}
	}
	return llmtest.Say("NOT FOUND")
}

// shell calls the shell of a host.
func shell(r llms.Request, reply llmtest.Reply, command string) llmtest.Reply {
	for _, t := range r.Tools {
		switch t.Name {
		case "Bash", "bash":
			return reply.And(t.Name, map[string]any{"command": command, "description": "Runs a command"})
		case "run_shell_command":
			return reply.And(t.Name, map[string]any{"command": command, "description": "Runs a command", "is_background": false})
		case "exec":
			return reply.And(t.Name, map[string]any{"command": command})
		case "exec_command":
			return reply.And(t.Name, map[string]any{"cmd": command, "max_output_tokens": 20000, "yield_time_ms": 30000})
		case "Execute":
			return reply.And(t.Name, map[string]any{"command": command, "summary": "Runs a command", "riskLevel": "low", "riskLevelReason": "It only reads."})
		}
	}
	return llmtest.Say("There is no shell.")
}

// look opens a picture.
func look(r llms.Request, path string) llmtest.Reply {
	for _, t := range r.Tools {
		switch t.Name {
		case "Read":
			return llmtest.Call(t.Name, map[string]any{"file_path": path})
		case "read":
			return llmtest.Call(t.Name, map[string]any{"filePath": path})
		case "view_image":
			return llmtest.Call(t.Name, map[string]any{"path": path})
		}
	}
	return llmtest.Say("I have no eyes.")
}

// agentID is the name of a sub-agent of Codex.
var agentID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// delegate starts a sub-agent at the first step and, in Codex, waits for it at the
// second.
func delegate(s playStep, prompt string) (reply llmtest.Reply, ok bool) {
	for _, t := range s.Request.Tools {
		switch {
		case t.Name == "Agent" && s.Number == 0:
			return llmtest.Call(t.Name, map[string]any{"description": "Prints logs", "prompt": prompt, "subagent_type": "general-purpose"}), true
		case t.Name == "task" && s.Number == 0:
			return llmtest.Call(t.Name, map[string]any{"description": "Prints logs", "prompt": prompt, "subagent_type": "general"}), true
		case t.Name == "multi_agent_v1__spawn_agent" && s.Number == 0:
			return llmtest.Call(t.Name, map[string]any{"message": prompt}), true
		case t.Name == "multi_agent_v1__wait_agent" && s.Number == 1:
			return llmtest.Call(t.Name, map[string]any{"targets": []string{agentID.FindString(s.Results[0].Text)}, "timeout_ms": 120_000}), true
		}
	}
	return reply, false
}
