package proxy

import (
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Composition describes one request: the ids of the summaries in it and the sizes of its
// parts, no content.
type Composition struct {
	At           time.Time     `json:"at"`
	Run          string        `json:"run"`
	Model        string        `json:"model"`
	Window       int           `json:"window"`
	Budget       int           `json:"budget"`
	Messages     int           `json:"messages"`         // in the host's request
	FullTokens   int           `json:"fullTokens"`       // of the host's request, estimated
	Tokens       int           `json:"tokens"`           // of the request that was sent, estimated
	Dropped      int           `json:"dropped"`          // messages that gave way to summaries
	Summaries    []UsedSummary `json:"summaries"`        // in their place
	Fold         bool          `json:"fold,omitempty"`   // other summaries than in the request before
	Usage        apiUsage      `json:"usage"`            // of the answer
	Status       int           `json:"status,omitempty"` // of the answer
	Failure      string        `json:"failure,omitempty"`
	Note         string        `json:"note,omitempty"`
	Over         string        `json:"over,omitempty"` // why it was sent above its budget
	Subscription bool          `json:"subscription,omitempty"`
	Checkpoint   bool          `json:"checkpoint,omitempty"` // the proxy answered it
	Observe      bool          `json:"observe,omitempty"`    // it was sent unchanged; summaries and tokens are what would have been sent

	FullUnits int `json:"fullUnits"`
	Units     int `json:"units"`
}

// UsedSummary is a summary in a request.
type UsedSummary struct {
	ID       store.SummaryID `json:"id"`
	Messages int             `json:"messages"` // beneath it
	Tokens   int             `json:"tokens"`
}

// Run is the record of one run of the proxy.
type Run struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Observe bool      `json:"observe,omitempty"`
	// Process and Machine tell whether a run without an end still runs.
	Process string `json:"process,omitempty"` // as [process.Owner] names it
	Machine string `json:"machine,omitempty"`

	Sessions     []string       `json:"sessions,omitempty"`
	Requests     int            `json:"requests"`
	Changed      int            `json:"changed"`      // requests with summaries
	Folds        int            `json:"folds"`        // times that other summaries were shown
	Largest      int            `json:"largest"`      // tokens of the largest request that was sent
	Usage        apiUsage       `json:"usage"`        // of all answers
	Cost         float64        `json:"cost"`         // input, in uncached input tokens
	Plain        float64        `json:"plain"`        // the same without the proxy, simulated
	Verbatim     int64          `json:"verbatim"`     // messages of the run's sessions in the record
	Subscription int            `json:"subscription"` // requests that passed because of a subscription login
	Checkpoints  int            `json:"checkpoints"`
	Unanswered   int            `json:"unanswered,omitempty"` // requests that the model API did not answer
	Unknown      int            `json:"unknown,omitempty"`    // requests of clients that lcm does not know
	Over         map[string]int `json:"over,omitempty"`       // requests that were sent above the budget, by reason
	Failures     map[string]int `json:"failures,omitempty"`   // requests that passed unchanged, by reason
	Problems     map[string]int `json:"problems,omitempty"`   // of the work in the background
}

// Records of runs are kept for runsKept; of a session the last requestsKept requests.
const (
	runsKept     = 90 * 24 * time.Hour
	requestsKept = 100
	writeEvery   = 2 * time.Second
)

// PassedUnchanged counts the requests that passed unchanged because something failed.
func (r Run) PassedUnchanged() int { return total(r.Failures) }

// OverBudget counts the requests that were sent above the budget.
func (r Run) OverBudget() int { return total(r.Over) }

func total(counts map[string]int) (n int) {
	for _, times := range counts {
		n += times
	}
	return n
}

// CacheHitRate is the share of the input that the provider read from its cache.
func (r Run) CacheHitRate() float64 {
	if r.Usage.Total() == 0 {
		return 0
	}
	return float64(r.Usage.CacheRead) / float64(r.Usage.Total())
}

// Compared reports whether the input cost can be compared with that of the same requests
// without lcm: lcm has changed a request, and the API has counted tokens.
func (r Run) Compared() bool { return r.Changed > 0 && r.Plain > 0 && r.Cost > 0 }

// Saved is the share of the input cost that the run saved against the same requests
// without lcm, which are simulated; 0 if they cannot be compared.
func (r Run) Saved() float64 {
	if !r.Compared() {
		return 0
	}
	return 1 - r.Cost/r.Plain
}

// Cost is the price of the request's input, in uncached input tokens.
func (m Composition) Cost() float64 { return inputCost(m.Usage) }

// LastTurn returns the index of the last request that was a turn of the conversation,
// not one beside it, such as that for a title.
func LastTurn(requests []Composition) int {
	last := len(requests) - 1
	for i, one := range requests {
		if one.FullTokens*2 > requests[last].FullTokens {
			last = i
		}
	}
	return last
}
