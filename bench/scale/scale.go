// Package scale measures the engine as the record grows: the rate of storing
// messages, the latency of a durable append and of a context, the cost of a pass
// of compaction beyond the summariser, and the size of the database.
//
// [Measure] makes a database for each size and spread, of messages that are
// the same on every machine (about 400 characters each, tool calls and results
// among them, made from the words and the tool output of the bundled session; the
// report names them by a digest). Batches are compared with hand-written SQL that inserts the
// very same rows, read back from the database that the engine made, with the
// same driver, schema and settings, in the same transactions.
//
// The numbers are wall-clock times of this machine; run it alone. [Report.Checks] sets
// each beside its target.
package scale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// Options adjust a run. The zero value is the documented benchmark.
type Options struct {
	Sizes   []int // numbers of messages: 1,000, 10,000 and 100,000
	Spreads []int // numbers of conversations with the messages: 1 and 1,000
	Budget  int   // the context window: 128,000 tokens
	Samples int   // how often a single append and a context are timed: 200
	// Expressions is how many are compared with a loop over all texts, which takes
	// minutes at a million messages: 100. A negative number is none.
	Expressions int
	Dir         string // for the databases, which are removed: a temporary directory
	Progress    harness.Progress
}

func (o *Options) fill() error {
	if len(o.Sizes) == 0 {
		o.Sizes = []int{1_000, 10_000, 100_000}
	}
	if len(o.Spreads) == 0 {
		o.Spreads = []int{1, 1_000}
	}
	o.Budget, o.Samples = cmp.Or(o.Budget, compact.DefaultBudget), cmp.Or(o.Samples, 200)
	o.Expressions = max(0, cmp.Or(o.Expressions, 100))
	if n := slices.Min(slices.Concat(o.Sizes, o.Spreads)); n < 1 {
		return fmt.Errorf("scale: %d is not a size", n)
	}
	return nil
}

// batch is how many messages go into one transaction, at most.
const batch = 1000

// Measure runs the benchmark.
func Measure(ctx context.Context, o Options) (Report, error) {
	if err := o.fill(); err != nil {
		return Report{}, err
	}
	report := Report{Budget: o.Budget, Samples: o.Samples, Corpus: harness.Digest()}
	var err error
	if report.Machine, err = harness.ThisMachine(); err != nil {
		return Report{}, err
	}
	for _, spread := range o.Spreads {
		for _, size := range o.Sizes {
			run, err := measure(ctx, o, size, min(spread, size))
			if err != nil {
				return report, fmt.Errorf("scale: %d messages in %d conversations: %w", size, spread, err)
			}
			report.Runs = append(report.Runs, run)
		}
	}
	return report, nil
}

// bench is one database under measurement.
type bench struct {
	Options
	Run
	*harness.Record
	convs   []store.ConversationID
	written int // messages that were made so far

	summariser instant

	ingestTook time.Duration
	peer       *peer
	small      store.ConversationID // of a thousand messages, among all the others
}

func measure(ctx context.Context, o Options, size, spread int) (_ Run, err error) {
	b := &bench{Options: o, Run: Run{Messages: size, Conversations: spread}}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"store in batches, and by hand", b.ingest},
		{"index, and the same with FTS5", b.index},
		{"search", b.search},
		{"append one by one", b.appends},
		{"compact", b.compact},
		{"ask for contexts", b.contexts},
		{"weigh", b.weigh},
	}
	for _, s := range steps {
		o.Progress.Say("%d messages in %d conversations: %s", size, spread, s.name)
		if err := s.run(ctx); err != nil {
			return b.Run, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.Run, nil
}

// close removes the database and the one that it is compared with.
func (b *bench) close(ctx context.Context) (err error) {
	if b.peer != nil {
		err = b.peer.conn.Close()
	}
	if b.Record != nil {
		err = errors.Join(err, b.Record.Close(ctx))
	}
	return err
}

func (b *bench) open(ctx context.Context) (err error) {
	// The index is built apart, so that each is timed alone.
	b.Record, err = harness.Temp(ctx, b.Dir, sqlite.Options{DeferIndex: true}, lcm.WithoutBackground(), lcm.WithBudget(b.Budget),
		lcm.WithSummariser(&b.summariser), lcm.WithBounds(lcm.Bounds{MaxPasses: 1 << 20, MaxCalls: 1 << 30, Deadline: time.Hour}))
	return err
}

func key(conversation int) string { return fmt.Sprintf("scale/%d", conversation) }

// fewestStored is of how many messages at least the rate of storing is taken
// where they are in one conversation.
const fewestStored = 10_000

// ingest stores all messages in batches, conversation by conversation, and inserts the
// same rows by hand after each. The rate of a single transaction of a thousand messages
// would be chance: then ingest repeats it in further databases.
func (b *bench) ingest(ctx context.Context) error {
	took, byHand, err := b.store(ctx)
	if err != nil {
		return err
	}
	stored := b.Messages
	for ; stored < fewestStored && b.Conversations == 1; stored += b.Messages {
		err := b.apart(ctx, func(again *bench) error {
			t, h, err := again.store(ctx)
			took, byHand = took+t, byHand+h
			return err
		})
		if err != nil {
			return err
		}
	}
	b.IngestPerSecond = float64(stored) / took.Seconds()
	b.SQLPerSecond = float64(stored) / byHand.Seconds()
	b.Ratio = b.IngestPerSecond / b.SQLPerSecond
	small, ms := b.Engine.Session("scale/small"), b.make(1000)
	at := time.Now()
	if err := small.Append(ctx, ms...); err != nil {
		return err
	}
	// Of all that is in this database, as it is indexed.
	b.ingestTook = time.Since(at) + time.Duration(float64(took)*float64(b.Messages)/float64(stored))
	conv, err := small.Conversation(ctx)
	b.small = conv.ID
	return err
}

// store opens the database and stores all messages in it. It returns how long
// that took, and the same by hand.
func (b *bench) store(ctx context.Context) (took, byHand time.Duration, err error) {
	if err := b.open(ctx); err != nil {
		return 0, 0, err
	}
	hand, err := newByHand(ctx, b.Path, b.Path+".sql")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, hand.close()) }()
	for c := range b.Conversations {
		share := (b.Messages + b.Conversations - 1 - c) / b.Conversations
		t, err := b.fillConversation(ctx, hand, key(c), share)
		if err != nil {
			return 0, 0, err
		}
		took += t
	}
	return took, hand.took, nil
}

// apart calls fn with a database of its own and removes it.
func (b *bench) apart(ctx context.Context, fn func(*bench) error) (err error) {
	own := &bench{Options: b.Options, Run: Run{Messages: b.Messages, Conversations: b.Conversations}}
	defer func() { err = errors.Join(err, own.close(ctx)) }()
	return fn(own)
}

// fillConversation stores a number of messages and returns how long that took.
func (b *bench) fillConversation(ctx context.Context, hand *byHand, key string, messages int) (took time.Duration, err error) {
	session := b.Engine.Session(key)
	conv, err := session.Conversation(ctx)
	if err != nil {
		return 0, err
	}
	b.convs = append(b.convs, conv.ID)
	if err := hand.announce(ctx, conv.ID); err != nil {
		return 0, err
	}
	for first := 1; first <= messages; first += batch {
		last := min(messages, first+batch-1)
		ms := b.make(last - first + 1)
		at := time.Now()
		if err := session.Append(ctx, ms...); err != nil {
			return 0, err
		}
		took += time.Since(at)
		if err := hand.follow(ctx, conv.ID, int64(first), int64(last)); err != nil {
			return 0, err
		}
	}
	return took, nil
}

func (b *bench) make(n int) []llms.Message {
	ms := make([]llms.Message, n)
	for i := range ms {
		ms[i] = harness.Message(b.written)
		b.written++
	}
	return ms
}

// index builds the search index of all messages, and has the same rows
// inserted by hand into a table with an FTS5 index of words.
func (b *bench) index(ctx context.Context) error {
	at, spent := time.Now(), harness.CPUTime()
	if err := b.DB.Reindex(ctx); err != nil {
		return err
	}
	took := time.Since(at)
	b.IndexMillis = harness.Millis(took)
	if err := b.weighGrams(ctx, harness.CPUTime()-spent); err != nil {
		return err
	}
	peer, err := newPeer(b.Path + ".fts")
	if err != nil {
		return err
	}
	b.peer = peer
	if err := peer.fill(ctx, b.DB); err != nil {
		return err
	}
	b.IndexedRatio = peer.took.Seconds() / (b.ingestTook + took).Seconds()
	st, err := search.ReadStats(ctx, b.DB.File().DB())
	if err != nil {
		return err
	}
	b.GramBytesPerRaw = float64(st.GramBytes) / float64(st.TextBytes)
	b.WordBytesPerRaw = float64(st.WordBytes) / float64(st.TextBytes)
	return nil
}

// weighGrams compares the processor time of building the trigrams with that of
// storing and indexing as a whole.
func (b *bench) weighGrams(ctx context.Context, indexing time.Duration) error {
	// Enough for a stable figure; the cost of a message does not depend on how
	// many there are.
	n := min(b.Messages, 24*segment.SealDocs)
	docs := make([]segment.Doc, n)
	for i := range docs {
		docs[i] = segment.Doc{ID: int64(i + 1), Conversation: 1, Text: []byte(harness.Message(i).SearchText())}
	}
	at := time.Now()
	for part := range slices.Chunk(docs, 12*segment.SealDocs) {
		if _, err := segment.Build(ctx, part, segment.Options{NoWords: true}); err != nil {
			return err
		}
	}
	grams := time.Since(at).Seconds() * float64(b.Messages) / float64(n)
	b.GramShare = grams / (b.ingestTook + max(indexing, time.Duration(b.IndexMillis*1e6))).Seconds()
	return nil
}

// appends times durable appends of single messages.
func (b *bench) appends(ctx context.Context) error {
	times := make([]time.Duration, 0, b.Samples)
	for i := range b.Samples {
		session, err := b.Engine.Resume(ctx, b.pick(i))
		if err != nil {
			return err
		}
		m := b.make(1)
		at := time.Now()
		if err := session.Append(ctx, m...); err != nil {
			return err
		}
		times = append(times, time.Since(at))
	}
	b.Append = quantiles(times)
	return nil
}

// pick spreads samples over the conversations.
func (b *bench) pick(i int) store.ConversationID { return b.convs[i*7919%len(b.convs)] }

// contexts times Context as a fresh process has it, and as a running agent
// that has just appended a message has it.
func (b *bench) contexts(ctx context.Context) error {
	var cold, warm []time.Duration
	var cpu time.Duration
	for i := range b.Samples {
		session, err := b.Engine.Resume(ctx, b.pick(i))
		if err != nil {
			return err
		}
		for _, times := range []*[]time.Duration{&cold, &warm} {
			at, spent := time.Now(), harness.CPUTime()
			view, err := session.Context(ctx, b.Budget)
			if err != nil {
				return err
			}
			*times = append(*times, time.Since(at))
			cpu += harness.CPUTime() - spent
			b.ContextTokens = max(b.ContextTokens, view.Tokens)
			if i%10 == 0 {
				if err := session.Append(ctx, b.make(1)...); err != nil {
					return err
				}
			}
		}
	}
	b.Cold, b.Warm = quantiles(cold), quantiles(warm)
	b.ContextCPUMillis = harness.Millis(cpu) / float64(len(cold)+len(warm))
	return nil
}

// weigh compares the size of the database with that of the messages.
func (b *bench) weigh(ctx context.Context) error {
	st, err := b.DB.Stats(ctx)
	if err != nil {
		return err
	}
	b.RawBytes = st.Bytes
	b.RSSBytes = harness.RSS()
	if b.DatabaseBytes, err = b.Record.Size(ctx); err != nil {
		return err
	}
	b.BytesPerRaw = float64(b.DatabaseBytes) / float64(b.RawBytes)
	return nil
}
