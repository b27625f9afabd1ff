package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// playScript returns the model's reply at a step of a play.
type playScript func(s playStep) llmtest.Reply

// playStep is a request as the script sees it.
type playStep struct {
	Request llms.Request
	Session string
	Agent   string
	// Play is the name in the newest prompt that has one: "play:long1".
	Play string
	// Number counts the model's replies since that prompt, from 0.
	Number int
	// Attempt counts the earlier requests for this step that failed.
	Attempt int
	// Results are the outputs of the calls of the step before.
	Results []callResult
}

// callResult is the output of a call.
type callResult struct {
	Tool string
	Text string
}

// playProgress is how far a session has come.
type playProgress struct {
	play   string
	next   int
	failed int // attempts at next
}

// issuedSignatures has the signatures that the API gave out.
type issuedSignatures struct {
	thinking  map[string]string // signature → text
	reasoning map[string]string // id of an item → id of the reasoning right before it
}

// sign returns a new signature for the reasoning of a reply.
func (k *issuedSignatures) sign(r llmtest.Reply, n int) string {
	signature := fmt.Sprintf("c2ln%s%06d==", r.ID, n)
	k.thinking[signature] = r.Reasoning
	switch {
	case r.Text != "":
		k.reasoning["msg_"+r.ID] = "rs_" + r.ID
	case len(r.Calls) > 0:
		k.reasoning["fc_"+r.ID+"_1"] = "rs_" + r.ID
	}
	return signature
}

var (
	playPattern = regexp.MustCompile(`\bplay:([a-z0-9]+)`)
	// An id of a call: the play, the step, the attempt, the place.
	callPattern = regexp.MustCompile(`^call_[a-z0-9]+_([a-z0-9]+)_(\d+)_\d+_\d+$`)
	// The orders to compact: Claude Code's, Codex's, opencode's and Gemini CLI's.
	compactPattern = regexp.MustCompile(`detailed summary of th|CONTEXT CHECKPOINT COMPACTION|<conversation>|anchored summary|<state_snapshot>`)
)

// play answers a request. The caller runs done when the host has the reply.
func (a *strictAPI) play(q llms.Request, r *apiRecord) (reply llmtest.Reply, done func()) {
	r.Kind = mainRequest
	done = func() {}
	if compactPattern.MatchString(llmtest.LastUserText(q)) {
		r.Kind = compactionRequest
		return llmtest.Say("<summary>The user asked for a long piece of work. It goes on.</summary>"), done
	}
	if len(q.Tools) == 0 {
		r.Kind = sideRequest
		return llmtest.Say("A title"), done
	}
	s, state := a.locate(q, r.Session+"/"+r.Agent)
	s.Session, s.Agent = r.Session, r.Agent
	r.Play, r.Step = s.Play, s.Number
	if a.options.Script == nil || s.Play == "" {
		return llmtest.Say("There is nothing to do."), done
	}
	reply = a.options.Script(s)
	for i := range reply.Calls {
		if reply.Calls[i].ID == "" {
			// Of one width: OpenClaw leaves out the underscores, and t1_12 must not become t11_2.
			reply.Calls[i].ID = fmt.Sprintf("call_%s_%s_%03d_%d_%d", a.name, s.Play, s.Number, s.Attempt, i)
		}
	}
	*state = playProgress{play: s.Play, next: s.Number, failed: s.Attempt + 1}
	return reply, func() { *state = playProgress{play: s.Play, next: s.Number + 1} }
}

// locate finds the play and the step of a request from its end: results of calls
// name their step. A prompt starts its play, unless the session is already in it:
// then the host has compacted, and the play goes on.
func (a *strictAPI) locate(q llms.Request, session string) (playStep, *playProgress) {
	state := a.plays[session]
	if state == nil {
		state = &playProgress{}
		a.plays[session] = state
	}
	s := playStep{Request: q}
	called := map[string]string{}
	found := false
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls() {
			called[c.ID] = c.Name
		}
		if results := m.ToolResults(); len(results) > 0 {
			for _, res := range results {
				at := callPattern.FindStringSubmatch(res.CallID)
				if at == nil {
					continue
				}
				number, err := strconv.Atoi(at[2])
				if err != nil {
					continue
				}
				if s.Play != at[1] || s.Number != number+1 || !found {
					s.Results = nil
				}
				s.Play, s.Number, found = at[1], number+1, true
				s.Results = append(s.Results, callResult{Tool: called[res.CallID], Text: outputText(res.Output)})
			}
		}
		if m.Role != llms.RoleUser {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind != llms.PartText || strings.Contains(p.Text, "<lcm-") {
				continue
			}
			if names := playPattern.FindAllStringSubmatch(p.Text, -1); names != nil {
				if name := names[len(names)-1][1]; name != s.Play {
					s.Play, s.Number, s.Results, found = name, 0, nil, false
				}
			}
		}
	}
	if s.Play == "" {
		s.Play = state.play
	}
	if s.Play == state.play {
		if !found {
			s.Number = state.next
		}
		if s.Number == state.next {
			s.Attempt = state.failed
		}
	}
	return s, state
}

func outputText(parts []llms.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
