package search

import (
	"context"
	"runtime"
	"sync"
)

// Texts hands texts to yield, one by one, until yield returns false. A text may
// be reused after yield returns.
type Texts func(yield func(id int64, text []byte) bool) error

// streamBatch is how many bytes of text a worker takes at once.
const streamBatch = 256 << 10

// Stream matches texts on all cores and yields those that match, in the order
// in which they came, until yield returns false or ctx ends. Texts are read by
// the calling goroutine alone, so that a single database connection serves.
func (p *Pattern) Stream(ctx context.Context, texts Texts, yield func(id int64, text []byte) bool) error {
	workers := runtime.GOMAXPROCS(0)
	s := &stream{work: make(chan *batch, workers), yield: yield, open: 2 * workers}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for b := range s.work {
				b.match(p)
				close(b.done)
			}
		})
	}
	err := texts(func(id int64, text []byte) bool {
		if ctx.Err() != nil || s.stopped {
			return false
		}
		return s.add(id, text)
	})
	s.send()
	close(s.work)
	for len(s.pending) > 0 {
		s.emit()
	}
	wg.Wait()
	if err == nil && !s.stopped {
		err = ctx.Err()
	}
	return err
}

// stream keeps the batches in flight, oldest first.
type stream struct {
	work    chan *batch
	pending []*batch
	filling *batch
	spare   []*batch
	open    int // batches in flight at most
	yield   func(id int64, text []byte) bool
	stopped bool // yield had enough
}

// batch is texts copied one after the other.
type batch struct {
	text []byte
	ids  []int64
	ends []int
	hit  []bool
	done chan struct{}
}

func (b *batch) slice(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.text[start:b.ends[i]:b.ends[i]]
}

func (b *batch) match(p *Pattern) {
	for i := range b.ids {
		b.hit = append(b.hit, p.re.Match(b.slice(i)))
	}
}

// add copies a text; it returns false when yield had enough.
func (s *stream) add(id int64, text []byte) bool {
	if s.filling == nil {
		s.filling = s.fresh()
	}
	b := s.filling
	b.text = append(b.text, text...)
	b.ids = append(b.ids, id)
	b.ends = append(b.ends, len(b.text))
	if len(b.text) >= streamBatch {
		s.send()
	}
	return !s.stopped
}

func (s *stream) fresh() *batch {
	if n := len(s.spare); n > 0 {
		b := s.spare[n-1]
		s.spare = s.spare[:n-1]
		b.text, b.ids, b.ends, b.hit = b.text[:0], b.ids[:0], b.ends[:0], b.hit[:0]
		b.done = make(chan struct{})
		return b
	}
	return &batch{text: make([]byte, 0, streamBatch+streamBatch/8), done: make(chan struct{})}
}

// send hands the filling batch to the workers, and yields what the oldest found
// when enough are in flight.
func (s *stream) send() {
	if s.filling == nil {
		return
	}
	if len(s.pending) == s.open {
		s.emit()
	}
	s.pending = append(s.pending, s.filling)
	s.work <- s.filling
	s.filling = nil
}

func (s *stream) emit() {
	b := s.pending[0]
	s.pending = s.pending[1:]
	<-b.done
	for i, hit := range b.hit {
		if hit && !s.stopped && !s.yield(b.ids[i], b.slice(i)) {
			s.stopped = true
		}
	}
	s.spare = append(s.spare, b)
}
