//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/tiktoken"
)

// tokens logs and checks how many tokens a host's request spends on lcm's
// tools and on the instructions of its server, and keeps the request.
func (m *questionMachine) tokens(host string, exchanges []llmtest.Exchange) {
	m.Helper()
	exact, err := tiktoken.New("o200k_base")
	if err != nil {
		m.Fatal(err)
	}
	for _, x := range exchanges {
		if len(x.Request.Tools) == 0 {
			continue // a side request
		}
		if err := os.WriteFile(filepath.Join("cache", "request-"+host+".json"), x.Body, 0o644); err != nil {
			m.Fatal(err)
		}
		var tools strings.Builder
		n := 0
		for _, t := range x.Request.Tools {
			if own := toolOf(t.Name); own == "expand" || strings.HasPrefix(own, "lcm_") {
				tools.WriteString(t.Name + "\n" + t.Description + "\n" + string(t.Parameters) + "\n")
				n++
			}
		}
		instructions := carried(x.Body, mcpserver.Instructions())
		all := llms.Estimate.Count(tools.String()) + llms.Estimate.Count(instructions)
		m.say("%s: %d tools of %d tokens and instructions of %d tokens (%d and %d by o200k_base)", host, n,
			llms.Estimate.Count(tools.String()), llms.Estimate.Count(instructions), exact.Count(tools.String()), exact.Count(instructions))
		if all > wantTokens {
			m.Errorf("%s: %d tokens of tools and instructions, want at most %d", host, all, wantTokens)
		}
		if n == 0 {
			m.Errorf("%s offers its model none of lcm's tools", host)
		}
		return
	}
	m.Errorf("%s asked its model nothing", host)
}

// carried is as much of a text as a request carries, from its beginning. Hosts
// put it in a system prompt, a message or a description, and may indent it.
func carried(body []byte, text string) string {
	want := strings.Fields(text)
	most := 0
	for _, s := range jsonStrings(string(body)) {
		have := strings.Fields(s)
		for at := range have {
			n := 0
			for n < len(want) && at+n < len(have) && have[at+n] == want[n] {
				n++
			}
			most = max(most, n)
		}
	}
	return strings.Join(want[:most], " ")
}
