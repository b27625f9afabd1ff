package proxy

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
)

// A host keeps its whole history and sends it in each request. A checkpoint lets Claude
// Code throw it away: the proxy refuses a request that is too large, as the API does for
// one that does not fit the window. The host then asks for a summary, and the proxy
// answers with the view of the record and a mark. Later requests carry the mark instead
// of the messages before it.

// checkpointTime is how long the proxy may take to answer a request for a summary. A
// model takes longer.
const checkpointTime = 20 * time.Second

// CheckpointBytes is the size of the history above which Claude Code is made to
// compact: about 700,000 tokens.
const CheckpointBytes = 3 << 20

//go:embed checkpoint.md
var checkpointText string

// compacting is a host that asks for a summary when the API refuses a request as too long.
type compacting interface {
	hosts.Host
	// AsksForSummary reports whether a message asks for a summary of the conversation.
	AsksForSummary(text string) bool
}

// isCompaction reports whether a request asks for a summary of the conversation.
func (s *session) isCompaction(r *apiform.Request) bool {
	i := len(r.Messages) - 1
	for i > 0 && r.Messages[i].Role == apiform.System { // newer models are told something after it
		i--
	}
	m := &r.Messages[i]
	host, err := all.Named[compacting](s.host)
	return err == nil && r.Form == apiform.Messages && m.Role == apiform.User && len(m.Texts) > 0 && host.AsksForSummary(m.Texts[len(m.Texts)-1].String())
}

// over returns how many bytes the history of a request is above the limit; it is
// negative below it. The part before the first answer does not count: after a checkpoint
// it holds the summary, and the next checkpoint would only replace it with another one.
func (s *session) over(r *apiform.Request) int {
	return len(r.Body) - fixed(r, s.budget) - s.server.CheckpointBytes
}

// madeToCompact is the note of a request that was refused because it was too large.
const madeToCompact = "the host was made to compact"

// refuse reports whether a request is so large that the host has to compact. After a
// refusal the proxy refuses nothing until the host has asked for a summary and has sent a
// smaller request; nor does it while the record is behind, and could not answer.
func (s *session) refuse(c *call, r *apiform.Request, l overlay.Laid) bool {
	if _, err := all.Named[compacting](s.host); err != nil || s.server.CheckpointBytes <= 0 || strings.Contains(s.id, "/") || s.refused || s.behind != "" || s.server.Observe {
		return false
	}
	if (s.over(r) < 0 || len(l.Edits) == 0) && !s.stuck(r, l) {
		return false
	}
	s.refused, s.asked = true, false
	c.made.Note = madeToCompact
	message := fmt.Sprintf("prompt is too long: %d tokens > %d maximum", c.made.FullTokens, s.maximum(c, r))
	c.answer = jsonAnswer(http.StatusBadRequest, object{"type": "error", "error": object{"type": "invalid_request_error", "message": message}})
	return true
}

// stuck reports whether a request of a folded session stays above the budget because its
// messages do not fit the summaries, and a checkpoint would make it smaller. A checkpoint
// leaves the part before the first answer, the newest step and a view of a quarter of the
// budget.
func (s *session) stuck(r *apiform.Request, l overlay.Laid) bool {
	if !s.foldedOut || s.tokens(r.Model, size(r, l)) <= s.budget {
		return false
	}
	_, step := newestStep(r)
	return s.tokens(r.Model, fixed(r, s.budget)+step) <= s.budget*3/4
}

// newestStep returns where the newest step of a request begins, with the last answer, and its size.
func newestStep(r *apiform.Request) (from, units int) {
	for from = len(r.Messages) - 1; from > 0; from-- {
		units += r.Messages[from].Units
		if r.Messages[from].Role == apiform.Assistant {
			break
		}
	}
	return from, units
}

// shrunk notes that a request of the history is small. If the host was made to compact
// before, it has done so.
func (s *session) shrunk() {
	if s.asked {
		s.refused, s.asked = false, false
	}
}

// maximum returns the tokens of a request at the limit, for the refusal of one above it.
// Claude Code keeps the difference of the two numbers out of its summary, at the end of
// the history, so the model's window would be wrong: it may be above the first number,
// and far below it most of the history would stay.
func (s *session) maximum(c *call, r *apiform.Request) int {
	return max(s.budget, c.made.FullTokens-s.tokens(r.Model, max(s.over(r), 0)+1))
}

// compacted answers a request for a summary from the record, or reports why it cannot.
// It releases the session meanwhile.
func (s *session) compacted(c *call, r *apiform.Request) error {
	s.mu.Unlock()
	defer s.mu.Lock()
	ctx, cancel := context.WithTimeout(s.server.ctx, checkpointTime)
	defer cancel()
	text, err := s.checkpointOver(ctx, r)
	if err != nil {
		return err
	}
	c.made.Checkpoint = true
	c.answer = textAnswer(r, text)
	return nil
}

// errBehind says that the transcript does not have all of a request yet.
var errBehind = errors.New("the transcript is behind the request")

// checkpointOver returns the view of the record as a summary of a request.
func (s *session) checkpointOver(ctx context.Context, r *apiform.Request) (string, error) {
	if err := s.complete(ctx, r); err != nil {
		return "", err
	}
	s.mu.Lock()
	last := s.index.Last(r)
	want := max(s.budget/4, lcm.MinBudget)
	s.mu.Unlock()
	if last == 0 {
		return "", errBehind
	}
	view, err := s.viewText(ctx, want, math.MaxInt64)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("{view}", view, "{mark}", apiform.CheckpointMark(int64(last))).Replace(checkpointText), nil
}

// viewText folds the session and returns its view within a budget as one text, up to a message.
func (s *session) viewText(ctx context.Context, want int, last store.MessageID) (string, error) {
	// The engine folds down from its soft threshold.
	if _, err := s.server.Engine.Compact(ctx, s.conversation(), lcm.CompactOptions{Budget: int(float64(want) / softThreshold)}); err != nil {
		return "", err
	}
	view, err := s.server.Engine.Session(s.key).Preview(ctx, want)
	if err != nil {
		return "", err
	}
	var all []string
	for _, it := range view.Items {
		if it.Summary != "" {
			c, err := coverReader{store: s.server.store}.cover(ctx, it.Summary, math.MaxInt)
			if err != nil {
				return "", err
			}
			all = append(all, textsUpTo(c, last)...)
		} else if it.Message <= last {
			m, err := store.First(s.server.store.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{it.Message}, NoRaw: true}))
			if err != nil {
				return "", err
			}
			if it.Tokens < m.Tokens { // it is too large
				m.Body = assemble.RenderStub(m)
			}
			all = append(all, fmt.Sprintf("[%s] %s", m.Body.Role, m.Body.Render()))
		}
	}
	// The host takes the text between <summary> and </summary>.
	body := strings.NewReplacer("<summary", "<lcm-summary", "</summary>", "</lcm-summary>").Replace(strings.Join(all, "\n\n"))
	return strings.TrimSpace(body), nil
}

// textsUpTo returns the text of a summary or, if it has messages after one too, those beneath it, as far
// as there are some.
func textsUpTo(c *overlay.Cover, last store.MessageID) (texts []string) {
	before, after := false, false
	for one := range c.All {
		for _, id := range one.Messages {
			before, after = before || id <= last, after || id > last
		}
	}
	if !before || after && len(c.Summaries) > 0 || c.Text == "" {
		for _, below := range c.Summaries {
			texts = append(texts, textsUpTo(below, last)...)
		}
		return texts
	}
	return []string{c.Text}
}

// complete waits until the record has every call and result of a request: the host
// writes its transcript a moment after it sends.
func (s *session) complete(ctx context.Context, r *apiform.Request) error {
	for {
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		if err := s.extend(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		has := s.index.HasAll(r)
		s.mu.Unlock()
		if has {
			return nil
		}
		select {
		case <-ctx.Done():
			return errBehind
		case <-time.After(100 * time.Millisecond):
		}
	}
}

type object = map[string]any

// answer is an answer that the proxy gives itself.
type answer struct {
	status int
	kind   string
	body   []byte
}

func (a *answer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may have gone
}

func jsonAnswer(status int, v any) *answer {
	body, err := json.Marshal(v)
	if err != nil {
		return &answer{status: http.StatusInternalServerError}
	}
	return &answer{status, "application/json", body}
}

// textAnswer is an answer of Anthropic's API that says a text. It cost no tokens.
func textAnswer(r *apiform.Request, text string) *answer {
	usage := object{"input_tokens": 0, "output_tokens": 0}
	message := object{"id": "msg_lcm_checkpoint", "type": "message", "role": "assistant", "model": r.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	block := object{"type": "text", "text": text}
	if !r.Stream {
		message["content"], message["stop_reason"] = []any{block}, "end_turn"
		return jsonAnswer(http.StatusOK, message)
	}
	var b bytes.Buffer
	for _, e := range []object{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}},
		{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	} {
		data, err := json.Marshal(e)
		if err != nil {
			return &answer{status: http.StatusInternalServerError}
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e["type"], data)
	}
	return &answer{http.StatusOK, "text/event-stream", b.Bytes()}
}
