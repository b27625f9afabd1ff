package search

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// maxRetries is how often a search starts again because segments were merged
// meanwhile.
const maxRetries = 5

// Search implements [store.Searcher].
func (ix *Index) Search(ctx context.Context, q store.Search) (found store.Found, err error) {
	if q.Limit <= 0 {
		return store.Found{}, errors.New("a search needs a limit")
	}
	ctx, span := tracing.Start(ctx, "store.search")
	defer func() {
		span.Int("hits", len(found.Hits))
		span.End(err)
	}()
	l := ix.messages
	if q.Summaries {
		l = ix.summaries
	}
	rebuilt := false
	for try := 0; ; try++ {
		found, err := l.search(ctx, q)
		if errors.Is(err, errMerged) && try < maxRetries {
			continue
		}
		if (errors.Is(err, segment.ErrCorrupt) || errors.Is(err, errMerged)) && !rebuilt { // a section that stays away is lost
			if err := l.rebuild(ctx, err); err != nil {
				return store.Found{}, err
			}
			rebuilt = true
			continue
		}
		return found, err
	}
}

func (l *lane) search(ctx context.Context, q store.Search) (store.Found, error) {
	filter, err := l.filter(ctx, q)
	if err != nil {
		return store.Found{}, err
	}
	var byTool *toolFilter
	if q.Tool != "" {
		byTool = &toolFilter{ctx: ctx, file: l.ix.file, tool: q.Tool, also: filter.Accept}
		filter.Accept = byTool.accept
	}
	if err := l.settle(ctx); err != nil {
		return store.Found{}, err
	}
	ix, err := l.open(ctx)
	if err != nil {
		return store.Found{}, err
	}
	var p page
	if q.Mode == store.Regex {
		p, err = l.grep(ctx, ix, q, filter)
	} else {
		p, err = l.rank(ctx, ix, q, filter)
	}
	if err == nil {
		err = p.incomplete(byTool.failed())
	}
	if err != nil {
		return store.Found{}, err
	}
	if p.Unfinished {
		// The hits that were found before the deadline are still resolved.
		ctx = context.WithoutCancel(ctx)
	}
	if p.Hits, err = l.resolve(ctx, p.hits); err != nil {
		return store.Found{}, err
	}
	for i := range p.Hits {
		p.Hits[i].After = p.after(i)
	}
	// What the record has lost, Verify names.
	p.Hits = slices.DeleteFunc(p.Hits, func(h store.Hit) bool { return h.Conversation == 0 })
	return p.Found, nil
}

// page is a result by document number.
type page struct {
	store.Found
	hits []search.Hit
	// ranked is the cursor of a ranking; nil if the page is ordered by number.
	ranked *store.Cursor
}

// after returns the cursor behind a hit.
func (p *page) after(i int) store.Cursor {
	if p.ranked == nil {
		return store.Cursor{Below: p.hits[i].ID}
	}
	at := *p.ranked
	at.Offset += i + 1
	return at
}

// cutTo limits the page to so many hits.
func (p *page) cutTo(limit int) {
	if len(p.hits) > limit {
		p.hits = p.hits[:limit]
		next := p.after(limit - 1)
		p.Next = &next
	}
}

// filter translates the conditions of a search for the index.
func (l *lane) filter(ctx context.Context, q store.Search) (search.Filter, error) {
	var f search.Filter
	for _, id := range q.Conversations {
		f.Conversations = append(f.Conversations, int64(id))
	}
	if !q.Since.IsZero() {
		f.Since = q.Since.UnixMilli()
	}
	if !q.Before.IsZero() {
		f.Before = q.Before.UnixMilli()
	}
	for _, r := range q.Roles {
		f.Roles = append(f.Roles, store.RoleCode(r))
	}
	if l.kind == rows.LaneSummaries {
		return f, nil
	}
	if len(q.Except) > 0 {
		f.Accept = func(id int64) bool { return !slices.Contains(q.Except, store.MessageID(id)) }
	}
	if q.Only != nil {
		f.Accept = both(f.Accept, func(id int64) bool { _, ok := slices.BinarySearch(q.Only, store.MessageID(id)); return ok })
	}
	if !q.Everything {
		f.Without = flagEcho
		var err error
		f.Hidden, err = l.ix.hosts.snapshot(ctx, l.ix.file)
		return f, err
	}
	return f, nil
}

// both accepts documents that a and b accept; a may be nil.
func both(a, b func(id int64) bool) func(id int64) bool {
	if a == nil {
		return b
	}
	return func(id int64) bool { return a(id) && b(id) }
}

// grep finds by pattern, newest first, and counts up to CountTo matches.
func (l *lane) grep(ctx context.Context, ix search.Index, q store.Search, f search.Filter) (page, error) {
	pattern, err := search.ParsePattern(q.Pattern)
	if err != nil {
		return page{}, err
	}
	p := page{Found: store.Found{Tier: "index"}}
	if !pattern.Indexed() {
		p.Tier = "scan"
	}
	req := search.GrepRequest{Pattern: pattern, Filter: f, Below: q.After.Below, Readers: runtime.GOMAXPROCS(0)}
	res, err := ix.Grep(ctx, req, l.texts(pattern.Literal()), func(id int64) bool {
		p.Matched++
		if len(p.hits) < q.Limit {
			p.hits = append(p.hits, search.Hit{ID: id, Matched: true})
		} else if p.Next == nil {
			p.Next = &store.Cursor{Below: p.hits[q.Limit-1].ID}
		}
		return p.Next == nil || p.Matched < q.CountTo
	})
	p.AtLeast = !res.Complete
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		p.Unfinished = true
		p.Notes = append(p.Notes, fmt.Sprintf("the deadline came after %d of %d candidates were read", res.Read, res.Candidates))
		err = nil
	}
	return p, err
}

// rank finds by words.
func (l *lane) rank(ctx context.Context, ix search.Index, q store.Search, f search.Filter) (page, error) {
	query, err := search.ParseQuery(q.Pattern)
	if err != nil {
		return page{}, err
	}
	req := search.Request{Query: query, Filter: f, Limit: q.Limit + 1, Below: q.After.Below, Sort: search.ByRecency, Readers: runtime.GOMAXPROCS(0)}
	var ranked *store.Cursor
	if q.Sort != store.ByRecency {
		ranked = startRanking(l, ix, q.After)
		req.Sort, req.Below = search.ByRelevance, 0
		req.Limit, req.Filter.Through, req.Now = ranked.Offset+q.Limit+1, ranked.Through, time.UnixMilli(ranked.Now)
	}
	res, err := ix.Search(ctx, req, l.texts(nil))
	if err != nil {
		return page{}, err
	}
	p := page{Found: store.Found{Tier: "index", Matched: res.Matched, AtLeast: res.AtLeast, Guessed: res.Guessed, Notes: notes(query, res), Words: res.Terms, Passages: res.Passages}, hits: res.Hits, ranked: ranked}
	if ranked != nil {
		p.hits = p.hits[min(ranked.Offset, len(p.hits)):]
	}
	p.cutTo(q.Limit)
	if p.Next == nil && ranked != nil && res.Unranked {
		p.Notes = append(p.Notes, unranked(res))
	}
	return p, nil
}

// startRanking returns the cursor of a ranking. The first page fixes its
// documents and its time, so that new messages do not shift later pages.
func startRanking(l *lane, ix search.Index, after store.Cursor) *store.Cursor {
	if after.Now == 0 {
		after.Now = l.ix.file.Now().UnixMilli()
	}
	if n := len(ix.Segments); n > 0 && after.Through == 0 {
		after.Through = ix.Segments[n-1].Info().LastID
	}
	return &after
}

// unranked describes a ranking that left matches out.
func unranked(res search.Result) string {
	of := fmt.Sprintf("%d of %d matches were", res.Ranked, res.Matched)
	if res.AtLeast {
		of = fmt.Sprintf("%d matches were", res.Ranked)
	}
	return "only the best " + of + " ranked; narrow the search or sort by recency"
}

// notes describes what a ranked search left out, and the words that it took for
// others.
func notes(query *search.Query, res search.Result) []string {
	var all []string
	if query.Ignored > 0 {
		all = append(all, fmt.Sprintf("%d words beyond the limit were ignored", query.Ignored))
	}
	for _, t := range res.Terms {
		if len(t.Also) > 0 {
			all = append(all, t.Word+": also "+strings.Join(t.Also, ", "))
		}
	}
	if res.TimeOnly {
		all = append(all, "no message has the other words: these are the messages of the time that the question names, prompts first")
	}
	if len(res.Common) > 0 {
		all = append(all, "so common that they only order what rarer words found: "+strings.Join(res.Common, ", "))
	}
	if res.Newest {
		all = append(all, "every word is so common that only the newest matches were ranked")
	}
	return all
}

// resolve looks up the messages or summaries of hits. One that is not there has no
// conversation.
func (l *lane) resolve(ctx context.Context, hits []search.Hit) ([]store.Hit, error) {
	out := make([]store.Hit, len(hits))
	var ids []int64
	at := map[int64]*store.Hit{}
	for i, h := range hits {
		out[i] = store.Hit{Score: h.Rank, Session: h.Session, Beside: !h.Matched}
		if l.kind == rows.LaneMessages {
			out[i].Message = store.MessageID(h.ID)
			for _, id := range h.NextTo {
				out[i].NextTo = append(out[i].NextTo, store.MessageID(id))
			}
		}
		ids, at[h.ID] = append(ids, h.ID), &out[i]
	}
	if len(ids) == 0 {
		return out, nil
	}
	sql := `SELECT id, '', conversation, coalesce(said, stored), role FROM messages WHERE id IN (SELECT j.value FROM json_each(?) j) AND ` + rows.NotErased
	if l.kind == rows.LaneSummaries {
		sql = `SELECT num, id, conversation, latest, 0 FROM summaries WHERE num IN (SELECT j.value FROM json_each(?) j)`
	}
	err := l.ix.file.Reader(ctx, func(c sqldb.Conn) error {
		return c.Query(sql, func(s sqldb.Row) error {
			h := at[s.ColumnInt64(0)]
			h.Summary = store.SummaryID(s.ColumnText(1))
			h.Conversation = store.ConversationID(s.ColumnInt64(2))
			h.Time = sqldb.Millis(s, 3)
			h.Role = store.RoleOf(s.ColumnInt(4))
			return nil
		}, ids)
	})
	return out, err
}
