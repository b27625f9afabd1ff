package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A batch is stored in one transaction. Both bounds keep its memory small.
const (
	batchRecords = 1000
	batchBytes   = 8 << 20
)

// CatchUp stores the new records of a transcript. If a limit ends it, the next call goes
// on from there. The report says if the engine's settings exclude the session. After an
// error the records before it are stored.
func (f *Feed) CatchUp(ctx context.Context, t Transcript, l Limits) (Report, error) {
	return f.catchUp(ctx, t, l, nil)
}

func (f *Feed) catchUp(ctx context.Context, t Transcript, l Limits, told func(Report)) (Report, error) {
	report := Report{Transcript: t}
	host, err := f.Host(t.Host)
	if err != nil {
		return report, err
	}
	c, _, err := f.cursor(ctx, t)
	if err != nil {
		return report, err
	}
	report.Compacted = c.Compacted
	if c.unchanged(t) {
		report.Conversation, report.Complete = c.Conversation, true
		return report, nil
	}
	r := &reading{feed: f, host: host, t: t, limits: l, report: report, told: told}
	if l.Time > 0 {
		r.deadline = f.options.Clock().Add(l.Time)
	}
	if why := r.ignored(ctx, c); why != "" {
		r.report.Ignored, r.report.Complete = why, true
		return r.report, nil
	}
	r.held, err = f.take(ctx, t, l.Wait)
	switch {
	case errors.Is(err, errBusy):
		r.report.Busy = true
		return r.report, nil
	case err != nil:
		return r.report, err
	}
	r.report.Conversation = r.held.Conversation // also if there is nothing new to store
	err = r.run(ctx)
	r.report.Compacted = r.held.Compacted
	if lost := r.report.Records - r.report.New - r.report.Known; err == nil && lost != 0 {
		err = &readError{fmt.Errorf("%d of the records that were read of %s are not stored: please report this", lost, t.Path)}
	}
	if errors.Is(err, errBusy) { // it was so slow that another process took over
		r.report.Busy = true
		return r.report, nil
	}
	if e := r.held.release(ctx); e != nil && !errors.Is(e, errBusy) {
		err = errors.Join(err, e)
	}
	return r.report, err
}

// Hold runs fn while nobody reads the transcript of a session, which need not be there yet. An
// engine stores the messages of a turn in it: a reader that looked for the turn before, and
// stores the host's own records of it after, would store them twice.
func (f *Feed) Hold(ctx context.Context, t Transcript, fn func() error) error {
	held, err := f.take(ctx, t, true)
	if err != nil {
		return err
	}
	err = fn()
	if e := held.release(ctx); e != nil && !errors.Is(e, errBusy) {
		err = errors.Join(err, e)
	}
	return err
}

// readError is an error of one transcript. With any other error the next would fail too.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// reading is one CatchUp.
type reading struct {
	feed     *Feed
	host     Host
	t        Transcript
	limits   Limits
	deadline time.Time
	report   Report
	told     func(Report)
	held     *held

	session *lcm.Session
	conv    store.ConversationID
	batch   []Record
	bytes   int64
	next    Position // after the last record of the batch
	// elsewhere says that the session was not read from this file the last time. Then begun says
	// that it has messages.
	elsewhere, begun bool
	unsaved          bool // records are stored that the cursor does not include
}

// peeked is how many records are searched for the session's directory.
const peeked = 64

// peek completes a transcript from its first records.
func (f *Feed) peek(ctx context.Context, host Host, t Transcript, c cursor) Transcript {
	if t.Dir = cmp.Or(c.Dir, t.Dir); c.Conversation != 0 || t.Dir != "" {
		return t
	}
	n := 0
	for rec, err := range host.Read(ctx, t, Position{}) {
		if n++; err != nil || n > peeked {
			break
		}
		t.Parent = cmp.Or(t.Parent, rec.Parent)
		if t.Dir = cmp.Or(t.Dir, rec.Dir); t.Dir != "" {
			break
		}
	}
	return t
}

// ignored returns why the settings exclude a transcript or its parent, or "".
func (r *reading) ignored(ctx context.Context, c cursor) string {
	r.t = r.feed.peek(ctx, r.host, r.t, c)
	in := lcm.WithProject(r.feed.projectOf(r.t.Dir))
	for _, key := range []string{r.t.Key(), r.t.parentKey()} {
		if key == "" {
			continue
		}
		if err := r.feed.engine.Session(key, in).CheckIgnored(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// run reads to the end, or to a limit.
func (r *reading) run(ctx context.Context) error {
	if r.elsewhere = r.held.Path != r.t.Path; r.elsewhere { // two files or databases may have a session with this id
		if r.held.Head == "" { // else it tells whether the position is one of this file
			r.held.Position = Position{}
		}
		r.held.Path, r.held.Size, r.held.Modified = r.t.Path, 0, time.Time{}
	}
	from := r.held.Position
	if from != (Position{}) && r.held.Conversation == 0 {
		from = Position{} // it was read before, but never stored
	}
	for rec, err := range r.host.Read(ctx, r.t, from) {
		if err != nil {
			return cmp.Or(r.flush(ctx), error(&readError{fmt.Errorf("read %s: %w", r.t.Path, err)}))
		}
		if err := r.add(ctx, rec); err != nil {
			return err
		}
		if r.spent() {
			return r.flush(ctx)
		}
	}
	if r.begins() {
		r.report.Counts = Counts{} // it is read again
		return nil
	}
	if err := errors.Join(r.flush(ctx), ctx.Err()); err != nil {
		return err
	}
	if err := r.summaries(ctx); err != nil {
		return err
	}
	r.report.Complete = true
	r.held.Size, r.held.Modified = r.t.Size, r.t.Modified
	return nil
}

// unsaid is how long a session without a message may wait for the first one.
const unsaid = time.Minute

// begins reports whether a new session has only bookkeeping yet. Its title comes from the
// first prompt, so it is stored when it has one, when nobody writes to it any more, or when
// something in it cannot be read.
func (r *reading) begins() bool {
	return r.held.Conversation == 0 && r.feed.options.Clock().Sub(r.t.Modified) < unsaid &&
		!slices.ContainsFunc(r.batch, func(rec Record) bool { return rec.Flags&store.FlagHidden == 0 || rec.Type == NotJSON })
}

// spent reports whether a limit is reached, and no run of lines of unknown types goes on.
func (r *reading) spent() bool {
	if n := len(r.batch); n > 0 && r.bytes < batchBytes && r.batch[n-1].loose() {
		return false
	}
	return r.limits.Bytes > 0 && r.report.Bytes >= r.limits.Bytes ||
		!r.deadline.IsZero() && !r.feed.options.Clock().Before(r.deadline)
}

// add adds a record to the batch. It first stores a full batch, or one that the record
// needs.
func (r *reading) add(ctx context.Context, rec Record) error {
	if rec.TooLong > 0 {
		r.report.TooLong = append(r.report.TooLong, rec.TooLong)
		r.report.Bytes += rec.TooLong
		r.next = rec.End
		return nil
	}
	if rec.Validate() != nil { // an invalid record must not block the others
		kept := Unreadable(rec.Raw.Bytes, rec.ID)
		kept.End = rec.End
		rec = kept
	}
	size := int64(len(rec.Raw.Bytes))
	r.report.Records++
	r.report.Bytes += size
	r.held.note(&rec)
	if last := len(r.batch) - 1; last >= 0 && r.bytes < batchBytes && r.batch[last].loose() && rec.loose() {
		r.batch[last].join(rec)
		r.bytes += size
		r.next = rec.End
		return nil
	}
	if len(r.batch) >= batchRecords || r.bytes >= batchBytes {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if rec.Branch {
		if err := r.flush(ctx); err != nil {
			return err
		}
		if err := r.goBack(ctx, rec); err != nil {
			return err
		}
	}
	r.batch = append(r.batch, rec)
	r.bytes += size
	r.next = rec.End
	return nil
}

// flush stores the batch.
func (r *reading) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		if r.next != (Position{}) {
			r.held.Position = r.next
		}
		return nil
	}
	if r.unsaved {
		r.unsaved = false
		if err := r.held.save(ctx); err != nil {
			return err
		}
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	if err := r.revisions(ctx); err != nil {
		return err
	}
	stored, err := r.session.AppendInputs(ctx, r.inputs()...)
	if err != nil {
		return fmt.Errorf("store records of %s: %w", r.t.Path, err)
	}
	r.count(stored)
	r.held.Position, r.held.Ingested = r.next, r.feed.options.Clock()
	r.unsaved = true
	clear(r.batch) // let the records be freed
	r.batch, r.bytes = r.batch[:0], 0
	if r.told != nil {
		r.told(r.report)
	}
	return nil
}

// inputs returns the messages of the batch.
func (r *reading) inputs() []ingest.Input {
	inputs := make([]ingest.Input, len(r.batch))
	for i, rec := range r.batch {
		inputs[i] = rec.Input
		if rec.run != nil {
			inputs[i].Parts = llms.Text(llms.RoleSystem, string(rec.Raw.Bytes)).Parts
		}
	}
	return inputs
}

func (r *reading) count(stored []store.Appended) {
	for i, s := range stored {
		rec := r.batch[i]
		if s.Existed {
			r.report.Known += rec.lines()
			continue
		}
		r.report.New += rec.lines()
		switch {
		case rec.Flags&store.FlagHidden != 0:
			r.report.Hidden += rec.lines()
		case rec.Flags&store.FlagHostSummary != 0:
			r.held.Compacted = rec.Time
		}
		for kind, n := range rec.run {
			count(&r.report.Unknown, kind, n)
		}
		if !rec.Known && rec.run == nil {
			count(&r.report.Unknown, rec.Type, 1)
		}
	}
}

// open opens the conversation, with title and project from the first records.
func (r *reading) open(ctx context.Context) error {
	if r.session != nil {
		return nil
	}
	title := r.t.Title
	for _, rec := range r.batch {
		r.t.Dir, r.t.Parent, r.t.Agent = cmp.Or(r.t.Dir, rec.Dir), cmp.Or(r.t.Parent, rec.Parent), cmp.Or(r.t.Agent, rec.Agent)
		title = cmp.Or(title, rec.Title)
	}
	backdate(r.batch)
	if title == "" {
		title = firstLine(r.feed.engine.Title(firstPrompt(r.batch)))
	}
	if r.t.Agent != "" {
		title = strings.TrimSuffix(r.t.Agent+": "+title, ": ")
	}
	in := r.feed.projectOf(r.t.Dir)
	options := []lcm.SessionOption{lcm.WithProject(in), lcm.WithAgent(r.t.Host), lcm.WithTitle(title)}
	var parent store.ConversationID
	if key := r.t.parentKey(); key != "" {
		c, err := r.feed.engine.Session(key, lcm.WithProject(in), lcm.WithAgent(r.t.Host)).Conversation(ctx)
		if err != nil {
			return err
		}
		parent = c.ID
		options = append(options, lcm.WithParent(parent))
	}
	opening := store.NewConversation{Key: r.t.Key(), Agent: r.t.Host, Project: in, Title: r.feed.engine.Title(title), Parent: parent}
	if err := r.fork(ctx, opening); err != nil {
		return err
	}
	session := r.feed.engine.Session(r.t.Key(), options...)
	if err := session.DropForgottenTitle(ctx, r.inputs()...); err != nil {
		return err
	}
	conv, err := session.Conversation(ctx)
	if err != nil {
		return err
	}
	r.session, r.conv, r.begun = session, conv.ID, r.elsewhere && conv.Messages > 0
	r.held.Conversation, r.held.Dir, r.report.Conversation = conv.ID, r.t.Dir, conv.ID
	return nil
}

// titleLength is how much of the first prompt can be a title, in characters.
const titleLength = 80

func firstPrompt(records []Record) string {
	for _, rec := range records {
		if prompt(rec.Message, rec.Flags) {
			return strings.TrimSpace(rec.PlainText())
		}
	}
	return ""
}

// firstLine returns the first line of a text, cut to the length of a title.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if utf8.RuneCountInString(line) > titleLength {
		line = string([]rune(line)[:titleLength-1]) + "…"
	}
	return line
}

// prompt reports whether a person wrote a message.
func prompt(m llms.Message, flags store.Flag) bool {
	return m.Role == llms.RoleUser && m.PlainText() != "" && flags.Said()
}

// maxOwn bounds how many calls of lcm's tools are remembered.
const maxOwn = 64

// note completes a record from the ones before it. A record without a time gets that of
// the last one: it must not depend on when it is read. A result of one of lcm's own tools
// is an echo; in most hosts' records only the call names the tool.
func (c *cursor) note(rec *Record) {
	if rec.Time.IsZero() {
		rec.Time = c.Said
	}
	c.Said = rec.Time
	own, others := false, false
	for _, p := range rec.Parts {
		switch {
		case p.Call != nil && toolname.IsOwn(p.Call.Name):
			c.Own = append(c.Own, p.Call.ID)
		case p.Result != nil && slices.Contains(c.Own, p.Result.CallID):
			c.Own = slices.DeleteFunc(c.Own, func(id string) bool { return id == p.Result.CallID })
			own = true
		default:
			others = true
		}
	}
	if own && !others {
		rec.Flags |= store.FlagEcho
	}
	c.Own = c.Own[max(0, len(c.Own)-maxOwn):]
}

// backdate gives the first records without a time that of the first one with a time.
func backdate(records []Record) {
	first := slices.IndexFunc(records, func(rec Record) bool { return !rec.Time.IsZero() })
	for i := range max(0, first) {
		records[i].Time = records[first].Time
	}
}
