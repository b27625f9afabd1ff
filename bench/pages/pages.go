// Package pages measures how long a browser waits for the first byte of the pages
// of `lcm ui`, on a session of a given length, over a real connection.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/ui"
	"github.com/lossless-context/lcm/llms"
)

// Target is the time to the first byte of a page, in milliseconds, that 95 of 100
// requests keep.
const Target = 100.0

// Options adjust a run.
type Options struct {
	Messages int // in one session
	Runs     int // of each page
	// Dir is where the database is put. A database that is there already is used
	// as it is.
	Dir      string
	Progress harness.Progress
}

// Page has the times of one page.
type Page struct {
	Name  string  `json:"name"`
	P50   float64 `json:"p50"` // milliseconds to the first byte
	P95   float64 `json:"p95"`
	Max   float64 `json:"max"`
	First float64 `json:"first"` // the first request, before anything is cached
	CPU   float64 `json:"cpu"`   // processor time of a request and its reader, the mean
	Bytes int64   `json:"bytes"` // of the largest answer
	Late  bool    `json:"late"`  // it is loaded after its page
}

// Report is the result of a run.
type Report struct {
	Messages  int64   `json:"messages"`
	Summaries int64   `json:"summaries"`
	Runs      int     `json:"runs"`
	Pages     []Page  `json:"pages"`
	RSS       float64 `json:"rssMB"` // the peak while the pages were read
}

// Checks compares the pages with the target. Parts that are loaded after a page have
// none.
func (r Report) Checks() (all []harness.Check) {
	for _, p := range r.Pages {
		if !p.Late {
			all = append(all, harness.AtMost(p.Name+", p95 of the first byte in ms", p.P95, Target))
		}
	}
	return all
}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages in one session, %d summaries; first byte in ms, %d requests each; peak memory %.0f MB\n\n", r.Messages, r.Summaries, r.Runs, r.RSS)
	fmt.Fprintf(&b, "%-36s %8s %8s %8s %8s %8s %9s\n", "page", "p50", "p95", "max", "first", "cpu", "kB")
	for _, p := range r.Pages {
		fmt.Fprintf(&b, "%-36s %8.1f %8.1f %8.1f %8.1f %8.1f %9.1f\n", p.Name, p.P50, p.P95, p.Max, p.First, p.CPU, float64(p.Bytes)/1e3)
	}
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks(), 56)
	return b.String()
}

const key = "bench"

// questions are typed into the search box.
var questions = []string{"parcel", "interval", "migration", "retry index", "why did the deploy fail"}

// newestSummaries returns the ids of some summaries of a conversation.
func newestSummaries(ctx context.Context, record store.Reader, id store.ConversationID) (ids []string, err error) {
	for sum, err := range record.Summaries(ctx, store.SummaryQuery{Conversation: id}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(sum.ID))
	}
	if len(ids) == 0 {
		return nil, errors.New("the session has no summaries: it needs more messages")
	}
	return ids[max(0, len(ids)-100):], nil
}

// Measure fills a database, serves it and asks for its pages.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "lcm-bench-*"); err != nil {
			return r, err
		}
		defer os.RemoveAll(o.Dir)
	}
	rec, err := harness.Open(ctx, filepath.Join(o.Dir, "ui.db"), sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, rec.Close(context.WithoutCancel(ctx))) }()
	c, err := fill(ctx, rec, o)
	if err != nil {
		return r, err
	}
	r.Messages, r.Summaries, r.Runs = c.Messages, c.Summaries, o.Runs
	base, client, stop, err := serve(ctx, rec)
	if err != nil {
		return r, err
	}
	defer stop()
	peak := harness.WatchRSS()
	summaries, err := newestSummaries(ctx, rec.Engine.Store(), c.ID)
	if err != nil {
		return r, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	anywhere := func() int64 { return 1 + rng.Int64N(c.Messages) }
	words := func() string { return url.QueryEscape(harness.PickFrom(rng, questions)) }
	pages := []struct {
		name string
		late bool
		path func() string
	}{
		{"sessions", false, func() string { return "/" }},
		{"session, its beginning", false, func() string { return "/session/1" }},
		{"session, anywhere", false, func() string { return fmt.Sprintf("/session/1?at=%d", anywhere()) }},
		{"session, scrolling", false, func() string { return fmt.Sprintf("/session/1?after=%d&fragment=1", anywhere()) }},
		{"message", false, func() string { return fmt.Sprintf("/message/msg_%d", anywhere()) }},
		{"summary", false, func() string { return "/summary/" + harness.PickFrom(rng, summaries) }},
		{"search", false, func() string { return "/search?q=" + words() }},
		{"what the model saw", false, func() string { return fmt.Sprintf("/session/1/context?at=%d", anywhere()) }},
		{"what was sent", false, func() string { return "/session/1/sent" }},
		{"map of the session (loaded after)", true, func() string { return "/session/1/map?fragment=1" }},
		{"matches of a search (loaded after)", true, func() string { return "/search?fragment=1&q=" + words() }},
		{"matches of a regex (loaded after)", true, func() string { return "/search?fragment=1&mode=regex&q=" + words() }},
		{"context at a message (loaded after)", true, func() string { return fmt.Sprintf("/session/1/context?fragment=1&at=%d", anywhere()) }},
	}
	for i, p := range pages {
		o.Progress.Tell(int64(i), int64(len(pages)), p.name)
		page := Page{Name: p.name, Late: p.late}
		var times []time.Duration
		cpu := harness.CPUTime()
		for n := range o.Runs {
			took, size, err := firstByte(ctx, client, base+p.path())
			if err != nil {
				return r, err
			}
			if n == 0 {
				page.First = harness.Millis(took)
			}
			times = append(times, took)
			page.Bytes = max(page.Bytes, size)
		}
		page.CPU = harness.Millis(harness.CPUTime()-cpu) / float64(o.Runs)
		page.P50, page.P95, page.Max = harness.Quantile(times, 0.5), harness.Quantile(times, 0.95), harness.Quantile(times, 1)
		r.Pages = append(r.Pages, page)
	}
	r.RSS = float64(peak()) / 1e6
	return r, nil
}

// fill appends the messages that are missing and folds them.
func fill(ctx context.Context, rec *harness.Record, o Options) (store.Conversation, error) {
	s := rec.Engine.Session(key, lcm.WithTitle("A long session"))
	c, err := s.Conversation(ctx)
	if err != nil {
		return c, err
	}
	const batch = 1000
	for n := int(c.Messages); n < o.Messages; {
		o.Progress.Tell(int64(n), int64(o.Messages), "appending")
		ms := make([]llms.Message, min(batch, o.Messages-n))
		for i := range ms {
			ms[i] = harness.Message(n + i)
		}
		if err := s.Append(ctx, ms...); err != nil {
			return c, err
		}
		n += len(ms)
		if n%50_000 < batch || n == o.Messages {
			if _, err := s.Compact(ctx, lcm.CompactOptions{Budget: 128_000}); err != nil {
				return c, err
			}
		}
	}
	return s.Conversation(ctx)
}

// scratch opens an engine on an empty database in memory.
func scratch(ctx context.Context) (*lcm.Engine, func() error, error) {
	rec, err := harness.Open(ctx, sqlite.Memory, sqlite.Options{}, lcm.WithoutBackground())
	if err != nil {
		return nil, nil, err
	}
	return rec.Engine, func() error { return rec.Close(context.WithoutCancel(ctx)) }, nil
}

// serve starts a server and a client that it has admitted.
func serve(ctx context.Context, rec *harness.Record) (base string, client *http.Client, stop func(), err error) {
	s, err := ui.New(ui.Config{
		Engine: rec.Engine, Budget: 16_000,
		Scratch: scratch,
		Branches: func(ctx context.Context, id store.ConversationID) ([]stats.Branch, error) {
			return stats.Branches(ctx, rec.DB.SQL(), id)
		},
	})
	if err != nil {
		return "", nil, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, err
	}
	ctx, stop = context.WithCancel(ctx)
	go func() { _ = s.Serve(ctx, l) }() // it ends with the run
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", nil, stop, err
	}
	base, client = "http://"+l.Addr().String(), &http.Client{Jar: jar}
	_, _, err = firstByte(ctx, client, base+ui.OpenPath+"?token="+url.QueryEscape(s.Token()))
	return base, client, stop, err
}

// firstByte returns the time to the first byte of a page, and its size.
func firstByte(ctx context.Context, client *http.Client, path string) (took time.Duration, size int64, err error) {
	begin := time.Now()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { took = time.Since(begin) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	size, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return took, size, err
}
