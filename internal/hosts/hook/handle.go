package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/recall/brief"
	"github.com/lossless-context/lcm/internal/recall/reminder"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Feed is the part of [hosts.Feed] that a handler needs.
type Feed interface {
	Locate(ctx context.Context, host, path, session string) (hosts.Transcript, error)
	CatchUp(ctx context.Context, t hosts.Transcript, l hosts.Limits) (hosts.Report, error)
}

// Record is the part of a store that a handler needs.
type Record interface {
	store.Reader
	store.Searcher
	store.State
}

// Handler answers events.
type Handler struct {
	Feed   Feed
	Record Record
	// Project returns the project of a directory.
	Project func(dir string) (store.Project, error)
	// Clock returns the time.
	Clock func() time.Time
	// FoldAbove is the size of a view, in tokens, above which a conversation is
	// compacted after a turn; 0 is never.
	FoldAbove int
	// SilentPrompts turns reminders off.
	SilentPrompts bool
	// PromptTime is how long a prompt may wait for its reminder (1 s); what was
	// found by then is shown. Hosts wait for 5 s.
	PromptTime time.Duration
}

// Limits on the work while a host waits. A compacted session needs its record most.
var (
	quick   = hosts.Limits{Bytes: 256 << 10, Time: 30 * time.Millisecond}
	patient = hosts.Limits{Bytes: 32 << 20, Time: 2 * time.Second}
)

// Answer is the output for the host, and the work that is left.
type Answer struct {
	// Context is the block for the session, or "". Event is the event that it answers, and
	// Flat says that the host has [hosts.About].FlatAnswers.
	Context string
	Event   string
	Flat    bool
	// Message is the line about Context for the user, where the host shows one.
	Message string
	own     bool // Context is about the session itself
	// Rest is the work for a process that outlives the hook.
	Rest Rest
}

// Rest is unfinished work.
type Rest struct {
	// Transcripts have unread records.
	Transcripts []hosts.Transcript
	// All says that other sessions of the host may have new records.
	All bool
	// Index says that the search index is behind. The caller sets it: only the
	// backend knows how far its index is.
	Index bool
	// Fold lists conversations to compact.
	Fold []store.ConversationID
}

// Empty reports whether nothing is left.
func (r Rest) Empty() bool {
	return len(r.Transcripts) == 0 && !r.All && !r.Index && len(r.Fold) == 0
}

// Handle handles an event. The answer is valid even if there is an error.
func (h *Handler) Handle(ctx context.Context, e Event) (Answer, error) {
	a := Answer{Event: e.Name, Flat: about(e.Host).FlatAnswers}
	if slices.Contains([]string{UserPromptSubmit, PostToolUse}, e.Name) {
		// The user waits. New records are stored at the end of the turn, unless they may tell
		// of a compaction.
		var err error
		if about(e.Host).CompactsInFile {
			err = h.ingest(ctx, e, quick, &a)
		}
		text, problem := h.during(ctx, e, &a)
		a.Context, err = text, errors.Join(err, problem)
		if err != nil || a.Context != "" {
			err = errors.Join(err, h.note(ctx, e, err))
		}
		a.say(e)
		return a, err
	}
	limit := quick
	if e.Name == SessionStart && e.Source == "compact" || e.Name == PreCompact {
		limit = patient
	}
	problems := []error{h.ingest(ctx, e, limit, &a)}
	switch e.Name {
	case PreCompact, PostCompact:
		problems = append(problems, h.forget(ctx, e, h.Clock()))
	case SubagentStart:
		var err error
		a.Context, err = h.agentBlock(ctx, e)
		problems = append(problems, err)
	case SessionStart:
		var err error
		if e.Source != "compact" {
			a.Rest.All, err = h.lookDue(ctx, e.Host)
		}
		problems = append(problems, err)
		if !e.InAgent && !about(e.Host).StartsWithPrompt {
			a.Context, err = h.block(ctx, e, &a)
			problems = append(problems, err)
		}
	}
	a.say(e)
	err := errors.Join(problems...)
	return a, errors.Join(err, h.note(ctx, e, err))
}

// say sets the line for the user.
func (a *Answer) say(e Event) {
	switch {
	case a.Context == "" || !about(e.Host).ShowsMessages || e.Name == SubagentStart:
	case e.Name == UserPromptSubmit:
		a.Message = "lcm added lines of the record to this prompt"
	case a.own:
		a.Message = "lcm told the session what it was doing before the compaction"
	default:
		a.Message = "lcm told this session of earlier work in this project"
	}
}

// ingest stores the new records of an event's transcripts.
func (h *Handler) ingest(ctx context.Context, e Event, l hosts.Limits, a *Answer) error {
	paths := []string{e.Transcript}
	if e.Agent != "" {
		paths = append(paths, e.Agent)
	}
	var problems []error
	if about(e.Host).WritesLate && e.Name == Stop {
		a.Rest.Transcripts = []hosts.Transcript{{Host: e.Host, Path: e.Transcript, Session: e.Session}}
	}
	for _, path := range paths {
		t, err := h.Feed.Locate(ctx, e.Host, path, e.Session)
		if errors.Is(err, hosts.ErrNoTranscript) {
			continue // nothing has been written yet
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		r, err := h.Feed.CatchUp(ctx, t, l)
		if !r.Complete && !r.Busy && r.Ignored == "" { // a background process has more time
			a.Rest.Transcripts = append(a.Rest.Transcripts, t)
		}
		problems = append(problems, err, h.foldDue(ctx, e, r.Conversation, &a.Rest), h.sawCompaction(ctx, e, r))
	}
	return errors.Join(problems...)
}

// sawCompaction forgets what the session was shown before a compaction that its transcript
// tells of.
func (h *Handler) sawCompaction(ctx context.Context, e Event, r hosts.Report) error {
	if !about(e.Host).CompactsInFile || r.Compacted.IsZero() {
		return nil
	}
	shown, err := h.shown(ctx, e)
	if err == nil && r.Compacted.After(shown.At) && r.Compacted.After(shown.Forgot) {
		err = h.forget(ctx, e, r.Compacted)
	}
	return err
}

// turnEnds are the events after which nobody waits for the session.
var turnEnds = []string{Stop, SubagentStop, SessionEnd}

// foldDue adds a conversation to rest.Fold if a turn has ended and its view is large.
func (h *Handler) foldDue(ctx context.Context, e Event, id store.ConversationID, rest *Rest) error {
	if h.FoldAbove <= 0 || id == 0 || !slices.Contains(turnEnds, e.Name) {
		return nil
	}
	c, err := h.Record.Conversation(ctx, id)
	if err != nil {
		return fmt.Errorf("see whether conversation %d is to be folded: %w", id, err)
	}
	if c.ViewTokens >= h.FoldAbove && c.Active() {
		rest.Fold = append(rest.Fold, id)
	}
	return nil
}

// block returns the context for a starting session, or "" if it has it already.
func (h *Handler) block(ctx context.Context, e Event, a *Answer) (string, error) {
	shown, err := h.shown(ctx, e)
	if err != nil {
		return "", err
	}
	again := e.Source == "resume" && about(e.Host).ForgetsStart
	own := e.Source == "compact" || shown.Compacted || again && !shown.Forgot.IsZero()
	if !own && !shown.At.IsZero() && e.Source != "clear" && !again {
		return "", nil
	}
	in, err := h.Project(e.Dir)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	b, err := brief.Of(ctx, h.Record, brief.Options{Project: in, Session: key(e), Own: own, Compacted: shown.Forgot})
	if err != nil {
		return "", err
	}
	b.Note = about(e.Host).LoadTools
	text := b.Block(brief.DefaultTokens)
	if b.Work == nil || text == "" && b.Work.Host == nil {
		return "", nil
	}
	a.own = b.Work.Conversation.Key == key(e)
	shown.At, shown.Conversation, shown.Compacted = h.Clock(), b.Work.Conversation.ID, false
	return text, h.put(ctx, store.HookShownSpace, key(e), shown, h.Clock().Add(memory))
}

// agentBlock returns the context for a sub-agent: a shorter block, in which the session that
// started it leads.
func (h *Handler) agentBlock(ctx context.Context, e Event) (string, error) {
	in, err := h.Project(e.Dir)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	b, err := brief.Of(ctx, h.Record, brief.Options{Project: in, Session: key(e), Own: true})
	if err != nil {
		return "", err
	}
	b.Note = about(e.Host).LoadTools
	return b.Block(brief.SubagentTokens), nil
}

// defaultPromptTime is ten times as long as a search takes.
const defaultPromptTime = time.Second

// NeedsRecord reports whether handling e needs the database. A prompt of nothing but ordinary
// words does not, nor does the end of a call in a host that says when it compacts: settings of
// an older lcm ask then, too.
func NeedsRecord(e Event) bool {
	if host := about(e.Host); e.Name == toolFailure || e.Name == PostToolUse && !host.CompactsUnseen && !host.StartsWithPrompt {
		return false
	}
	return e.Name != UserPromptSubmit || !e.InAgent && (about(e.Host).CompactsUnseen || reminder.RefersBack(e.Prompt))
}

// about returns the facts about a host; it has none if it is not known.
func about(host string) (a hosts.About) {
	if h, err := all.Named[hosts.Host](host); err == nil {
		a = h.About()
	}
	return a
}

// during returns the context for a prompt or a tool call: the block about a session that was
// compacted unseen or starts with this prompt, and the lines that a prompt refers to.
func (h *Handler) during(ctx context.Context, e Event, a *Answer) (text string, err error) {
	if host := about(e.Host); (host.CompactsUnseen || host.StartsWithPrompt) && !e.InAgent {
		shown, err := h.shown(ctx, e)
		if err == nil && shown.Compacted && !host.CompactsInFile { // for the host's summary
			err = h.ingest(ctx, e, patient, a)
		}
		if err == nil && (shown.Compacted || shown.At.IsZero() && host.StartsWithPrompt && e.Name == UserPromptSubmit) {
			text, err = h.block(ctx, e, a)
		}
		if err != nil {
			return "", err
		}
	}
	if e.Name != UserPromptSubmit {
		return text, nil
	}
	lines, err := h.remind(ctx, e)
	return strings.TrimSpace(text + "\n" + lines), err
}

// remind returns the block of lines that a prompt refers to, or "".
func (h *Handler) remind(ctx context.Context, e Event) (string, error) {
	if h.SilentPrompts || e.InAgent || !reminder.RefersBack(e.Prompt) {
		return "", nil
	}
	in, err := h.Project(e.Dir)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	shown, err := h.shown(ctx, e)
	if err != nil {
		return "", err
	}
	limit := cmp.Or(h.PromptTime, defaultPromptTime)
	search, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lines, err := reminder.For(search, h.Record, e.Prompt, reminder.Options{Project: in, Session: key(e), Forgot: shown.Forgot, Shown: shown.Reminded})
	if err != nil && search.Err() != nil && ctx.Err() == nil {
		return "", fmt.Errorf("the search for the messages that the prompt refers to was given up after %v: the machine or its disk is slow", limit)
	}
	block := reminder.Block(lines)
	if err != nil || block == "" {
		return "", err
	}
	for _, l := range lines {
		if strings.Contains(block, l.String()) { // it fits
			shown.Reminded = append(shown.Reminded, l.ID)
		}
	}
	shown.Reminded = shown.Reminded[max(0, len(shown.Reminded)-maxReminded):]
	return block, errors.Join(h.put(ctx, store.HookShownSpace, key(e), shown, h.Clock().Add(memory)),
		h.put(ctx, store.RecallSpace, key(e), h.Clock(), h.Clock().Add(memory)))
}

func key(e Event) string { return hosts.Transcript{Host: e.Host, Session: e.Session}.Key() }

// JSON returns the output for the host: nothing, or the context.
func (a Answer) JSON() ([]byte, error) {
	if a.Context == "" {
		return nil, nil
	}
	type answer struct {
		Event   string `json:"hookEventName,omitempty"`
		Context string `json:"additionalContext"`
	}
	var out any = struct {
		Specific answer `json:"hookSpecificOutput"`
		Message  string `json:"systemMessage,omitempty"`
	}{answer{a.Event, a.Context}, a.Message}
	if a.Flat {
		out = answer{Context: a.Context}
	}
	text, err := jsonstring.Marshal(out) // hosts store the text, and ingest must recognise the tag
	return append(text, '\n'), err
}
