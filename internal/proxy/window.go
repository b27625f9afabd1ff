package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
)

// longWindow is in the header of requests to a model with a window of a million
// tokens.
const longWindow = "context-1m"

// The windows of models, in tokens.
const (
	defaultWindow = 200_000
	millionWindow = 1_000_000
)

// smallWindows are models with a window below the default one, by the beginnings of their
// names. The longest one counts.
var smallWindows = map[string]int{
	"gpt-3.5-turbo": 16_385, "gpt-4": 8_192, "gpt-4-32k": 32_768, "gpt-4-turbo": 128_000, "gpt-4o": 128_000, "chatgpt-4o": 128_000,
	"gpt-4.1": defaultWindow, "gpt-4.5": 128_000, "o1-mini": 128_000, "o1-preview": 128_000,
	"deepseek-chat": 128_000, "deepseek-reasoner": 128_000, "mistral-large": 128_000,
}

// window returns the size of a model's window: as the request's header says it, else the
// smaller one of the host's settings and of what the API's errors have told, else that of
// the table. known is false if nothing is known of the model.
func (s *Server) window(h http.Header, model string) (tokens int, known bool) {
	if hasMillion(h, model) {
		return millionWindow, false
	}
	for _, w := range []int{s.Windows[model], s.Windows[""], s.cal.of(s.ctx, model).Window} {
		if w > 0 && (tokens == 0 || w < tokens) {
			tokens = w
		}
	}
	if tokens > 0 {
		return tokens, true
	}
	name, longest := model[strings.LastIndexByte(model, '/')+1:], ""
	for prefix := range smallWindows {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest != "" {
		return smallWindows[longest], true
	}
	return defaultWindow, false
}

func hasMillion(h http.Header, model string) bool {
	return strings.Contains(h.Get("Anthropic-Beta"), longWindow) || strings.Contains(model, "[1m]")
}

// The default budget, and the bound of one of the user's own, as percentages of the window.
const (
	budgetShare   = 60
	messagesShare = 33 // at least, of the messages; they would be folded every few steps
	largestShare  = 80 // for the messages; the rest is for the answer
	mostShare     = 90 // of a window that is known, for a budget of the user's own
	maxBudget     = 150_000
)

// defaultBudget is 60 percent of the window, and at most 150,000 tokens. Where the part of the
// requests that cannot be folded is large, it leaves a third of the window for the rest, and
// takes 80 percent of the window at most.
func defaultBudget(window, fixed int) int {
	wide := min(fixed+window*messagesShare/100, window*largestShare/100)
	return min(max(window*budgetShare/100, wide), maxBudget)
}

// budgetOf returns the window of the session's model and the budget of its requests. A
// request that does not fit the window helps nobody, whatever budget the user has set.
func (s *session) budgetOf(h http.Header) (window, budget int) {
	window, known := s.server.window(h, s.model)
	if s.server.Budget == nil {
		return window, defaultBudget(window, s.tokens(s.model, fixed(s.last, s.budget)))
	}
	budget = s.server.Budget(s.model, window, s.project)
	if known {
		budget = min(budget, window*mostShare/100)
	}
	return window, budget
}

// maxError bounds how much of an error of the API is read.
const maxError = 64 << 10

// readError learns the window of the model from an answer that is no success. It leaves
// the body readable.
func (c *call) readError(resp *http.Response) {
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // the client gets the error
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	if resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusRequestEntityTooLarge {
		c.learnWindow(start)
	}
}

// learnWindow takes the window from an error of the API. An error without a number says
// that the window is smaller than the request. The budget follows.
func (c *call) learnWindow(text []byte) {
	window, tooLong := apiform.TooLong(text)
	if !tooLong || c.million {
		return
	}
	if window == 0 {
		window = c.made.Tokens
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if window < leastWindow || window >= c.made.Window {
		return
	}
	s.server.cal.learn(s.server.ctx, c.made.Model, func(l *learnt) { l.Window = window })
	if s.model == c.made.Model {
		_, s.budget = s.budgetOf(nil)
	}
}
