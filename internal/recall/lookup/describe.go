package lookup

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// ParseID reads an id, bare or in a pasted reference.
func ParseID(text string) (store.ID, error) {
	id, err := store.ParseID(text)
	if err != nil {
		err = refuse("lcm_grep finds ids", "%w", err)
	}
	return id, err
}

// Describe shows one thing whole.
func (s *Service) Describe(ctx context.Context, r recall.DescribeRequest) (_ recall.DescribeAnswer, err error) {
	ctx, span := tracing.Start(ctx, "recall.describe")
	defer func() { span.End(err) }()
	id := r.ID
	if err := checkDescribe(r, id); err != nil {
		return recall.DescribeAnswer{}, err
	}
	scope, err := s.scopes.reach(ctx, r.Where)
	if err != nil {
		return recall.DescribeAnswer{}, err
	}
	d := description{Service: s, request: r, answer: recall.DescribeAnswer{Scope: scope}}
	switch {
	case id.Summary != "":
		err = d.summary(ctx, id.Summary)
	case id.Payload != "":
		err = d.file(ctx, id.Payload)
	default:
		err = d.message(ctx, id.Message)
	}
	if err == nil && d.answer.ConversationID != 0 {
		err = nameMachine(ctx, s.store, &d.answer)
	}
	if err != nil {
		return recall.DescribeAnswer{}, err
	}
	return d.answer, nil
}

// description is a request on its way to an answer.
type description struct {
	*Service
	request recall.DescribeRequest
	answer  recall.DescribeAnswer
}

// nameMachine notes the agent, the user and the machine of a session that was pushed to
// a team's server.
func nameMachine(ctx context.Context, from store.Reader, a *recall.DescribeAnswer) error {
	c, err := from.Conversation(ctx, a.ConversationID)
	if err == nil && strings.Contains(c.Agent, "@") {
		a.Notes = append(a.Notes, "from a session of "+prose.OneLine(safetext.Line(c.Agent)))
	}
	return err
}

// Bounds of a manifest.
const (
	defaultManifest = 50
	maxManifest     = 1000
)

func checkDescribe(r recall.DescribeRequest, id store.ID) error {
	bytes, lines := r.Offset != 0 || r.Length != 0, r.StartLine != 0 || r.EndLine != 0
	switch {
	case id == store.ID{}:
		return refuse("lcm_grep finds ids", "no id was given")
	case r.Offset < 0 || r.Length < 0:
		return refuse("", "offset and length count bytes: they cannot be negative")
	case r.StartLine < 0 || r.EndLine < 0:
		return refuse("", "lines are numbered from 1")
	case lines && bytes:
		return refuse("give one of them", "a range is either of bytes or of lines")
	case r.EndLine != 0 && r.EndLine < r.StartLine:
		return refuse("", "startLine %d comes after endLine %d", r.StartLine, r.EndLine)
	case lines && id.Payload == "":
		return refuse("use offset and length for a message", "lines are those of files")
	case bytes && id.Summary != "":
		return refuse("a summary is shown whole", "ranges are those of files and messages")
	case r.MaxTokens < 0 || r.MaxBytes < 0:
		return refuse("leave them out for no bound", "maxTokens and maxBytes cannot be negative")
	case r.Limit < 0 || r.Limit > maxManifest:
		return refuse("page through more with nextCursor", "limit is %d: it must be from 1 to %d", r.Limit, maxManifest)
	}
	return nil
}

func hexSum(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
