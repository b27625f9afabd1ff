package lookup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// place is how far a cursor has come in one lane.
type place struct {
	// Below, Offset, Through and Now are those of [store.Cursor]: the number below
	// which a search by recency continues, the results of a ranking that were
	// returned, the highest number that was ranked, and the time from which ages
	// count.
	Below   int64 `asn1:"optional,tag:0"`
	Offset  int   `asn1:"optional,tag:1"`
	Through int64 `asn1:"optional,tag:2"`
	Now     int64 `asn1:"optional,tag:3"`
	Taken   int   `asn1:"optional,tag:4"` // hits of this lane on all pages so far
	// Total and AtLeast are the count of the first page, so that every page
	// reports the same.
	Total   int  `asn1:"optional,tag:5"`
	AtLeast bool `asn1:"optional,tag:6"`
	Done    bool `asn1:"optional,tag:7"` // the lane has no more hits
}

// places are those of a grep's two lanes. Words says that the first page read
// the pattern as words, Absent that it named words that are not in the record.
type places struct {
	Begun     bool  `asn1:"optional,tag:0"`
	Words     bool  `asn1:"optional,tag:1"`
	Messages  place `asn1:"optional,tag:2"`
	Summaries place `asn1:"optional,tag:3"`
	Absent    bool  `asn1:"optional,tag:4"`
}

// maxOffset is further than anybody pages through ranked matches; a cursor
// beyond it was made up.
const maxOffset = 1 << 20

// lane is the messages or the summaries of a grep.
type lane struct {
	summaries bool
	place     place
	found     store.Found
	used      int // of the hits
}

func (l *lane) head() (store.Hit, bool) {
	if l.used == len(l.found.Hits) {
		return store.Hit{}, false
	}
	return l.found.Hits[l.used], true
}

// take moves past a hit.
func (l *lane) take() store.Hit {
	h := l.found.Hits[l.used]
	l.used++
	l.place.Taken++
	l.place.Below, l.place.Offset, l.place.Through, l.place.Now = h.After.Below, h.After.Offset, h.After.Through, h.After.Now
	return h
}

// search asks each lane for a page.
func (s *Service) search(ctx context.Context, q *query, from places) ([]*lane, error) {
	var lanes []*lane
	if q.kinds != recall.InSummaries {
		lanes = append(lanes, &lane{place: from.Messages})
	}
	if q.kinds == recall.InSummaries || q.kinds == recall.InBoth {
		lanes = append(lanes, &lane{summaries: true, place: from.Summaries})
	}
	ctx, cancel := early(ctx)
	defer cancel()
	late := 0
	for _, l := range lanes {
		err := s.searchLane(ctx, q, l, from.Begun)
		if errors.Is(err, context.DeadlineExceeded) {
			l.found.Unfinished, err = true, nil
			late++
		}
		if err != nil {
			return nil, err
		}
	}
	if late == len(lanes) {
		return nil, context.DeadlineExceeded
	}
	return lanes, nil
}

// early ends before its parent does, so that there is time left to show the
// matches.
func early(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end.Add(-time.Until(end)/5))
}

func (s *Service) searchLane(ctx context.Context, q *query, l *lane, begun bool) error {
	if l.place.Done {
		return nil
	}
	if l.place.Below < 0 || l.place.Through < 0 || l.place.Now < 0 || l.place.Offset < 0 || l.place.Offset > maxOffset {
		return refuse(cursorHint, "the cursor is damaged")
	}
	search := q.search
	search.Summaries = l.summaries
	search.After = store.Cursor{Below: l.place.Below, Offset: l.place.Offset, Through: l.place.Through, Now: l.place.Now}
	if begun {
		search.CountTo = 0 // the first page has counted
	}
	if search.Sort != store.ByRecency {
		search.Limit = max(search.Limit, rankedBeneath) // for foundBeneath
	}
	var err error
	if q.re != nil && search.Sort != store.ByRecency {
		l.found, err = s.exactRanked(ctx, q, search)
	} else {
		l.found, err = Search(ctx, s.store, search)
	}
	if err != nil {
		return err
	}
	if !begun {
		l.place.Total, l.place.AtLeast = l.found.Matched, l.found.AtLeast
	}
	return nil
}

// merge takes up to limit hits from the lanes in the order of the answer. A summary of which
// a message was found (see foundBeneath), and one that has none of the words, takes no place.
func merge(lanes []*lane, q *query, limit int, beneath map[store.SummaryID]store.MessageID) []store.Hit {
	var out []store.Hit
	for {
		for _, l := range lanes {
			l.passOver(beneath)
		}
		l := first(lanes, q.search.Sort)
		if l == nil || len(out) == limit {
			return out
		}
		out = append(out, l.take())
	}
}

// passOver moves past summaries that take no place, and at the end past the hits behind the
// last match.
func (l *lane) passOver(beneath map[store.SummaryID]store.MessageID) {
	if l.found.Next == nil && !slices.ContainsFunc(l.found.Hits[l.used:], func(h store.Hit) bool { return !h.Beside }) {
		l.used = len(l.found.Hits)
	}
	for {
		h, ok := l.head()
		if _, found := beneath[h.Summary]; !ok || !h.IsSummary() || !found && !h.Beside {
			return
		}
		l.take()
		l.place.Taken--
	}
}

// rankedBeneath is how many messages of a ranking are looked at for the summaries
// that cover them. It is the same for every page.
const rankedBeneath = 2 * recall.DefaultLimit

// foundBeneath maps the summaries of a ranked answer to the best of the messages
// found that they cover.
func (s *Service) foundBeneath(ctx context.Context, q *query, lanes []*lane, from places) (map[store.SummaryID]store.MessageID, error) {
	if q.search.Sort == store.ByRecency || len(lanes) < 2 || len(lanes[1].found.Hits) == 0 {
		return nil, nil
	}
	messages, summaries := lanes[0].found, lanes[1].found
	if from.Messages.Offset > 0 || from.Messages.Done { // the first ones were on a page before
		search := q.search
		search.After = store.Cursor{Through: from.Messages.Through, Now: from.Messages.Now}
		search.Limit, search.CountTo = rankedBeneath, 0
		var err error
		if q.re != nil {
			messages, err = s.exactRanked(ctx, q, search)
		} else {
			messages, err = s.store.Search(ctx, search)
		}
		if err != nil {
			return nil, err
		}
	}
	best := make(map[store.SummaryID]store.Hit)
	for _, h := range messages.Hits[:min(rankedBeneath, len(messages.Hits))] {
		for above := []store.ID{{Message: h.Message}}; len(above) > 0; above = above[1:] {
			over, err := s.store.Derived(ctx, above[0])
			if err != nil {
				return nil, err
			}
			for _, id := range over {
				if _, known := best[id]; !known {
					best[id] = h
					above = append(above, store.ID{Summary: id})
				}
			}
		}
	}
	out := make(map[store.SummaryID]store.MessageID)
	for _, h := range summaries.Hits {
		if m, ok := best[h.Summary]; ok {
			out[h.Summary] = m.Message
		}
	}
	return out, nil
}

// first chooses the lane whose turn it is.
func first(lanes []*lane, sort store.Sort) *lane {
	var live []*lane
	for _, l := range lanes {
		if _, ok := l.head(); ok {
			live = append(live, l)
		}
	}
	if len(live) < 2 {
		if len(live) == 0 {
			return nil
		}
		return live[0]
	}
	messages, summaries := live[0], live[1]
	if sort == store.ByRecency {
		m, _ := messages.head()
		s, _ := summaries.head()
		if s.Time.After(m.Time) {
			return summaries
		}
		return messages
	}
	if messages.place.Taken < 2*(summaries.place.Taken+1) {
		return messages
	}
	// In two indexes the words of the question are not equally rare, so each score counts as
	// a share of the rarity of all the words. Measured: with summaries that match less than
	// the best message among the first ten, the page held less evidence.
	s, _ := summaries.head()
	if best := messages.found.Hits[0]; s.Score*rarity(messages.found) >= best.Score*rarity(summaries.found) {
		return summaries
	}
	return messages
}

// rarity adds up the weights of the words of the question in a lane.
func rarity(f store.Found) float64 {
	sum := 0.0
	for _, w := range f.Words {
		sum += search.Rarity(w.Passages, f.Passages)
	}
	return sum
}

// next is the cursor behind the hits that were taken, or nothing if there are no
// more.
func next(lanes []*lane, digest string, from places) string {
	to := places{Begun: true, Words: from.Words, Absent: from.Absent}
	more := false
	for _, l := range lanes {
		rest := l.used < len(l.found.Hits) || l.found.Next != nil
		l.place.Done = l.place.Done || !rest && !l.found.Unfinished
		// A lane that ran out of time without a hit is worth another try, but
		// with more time, not with a cursor.
		more = more || rest || l.found.Unfinished && l.used > 0
		if l.summaries {
			to.Summaries = l.place
		} else {
			to.Messages = l.place
		}
	}
	if !more {
		return ""
	}
	return seal(digest, to)
}
