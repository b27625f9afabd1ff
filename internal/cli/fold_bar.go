package cli

import (
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/store"
)

// foldBar shows how far folding has come: by how many tokens views have become
// smaller.
type foldBar struct {
	*bar
	total   int64 // by how much they are to become smaller in all
	before  int64 // by how much those before the current one did
	current store.Conversation
	now     int64 // by how much the current one did
	folds   int
	began   time.Time
}

func newFoldBar(p *program, label string, total int64) *foldBar {
	return &foldBar{bar: p.newBar(label), total: total, began: time.Now()}
}

// start begins with the next conversation.
func (b *foldBar) start(c store.Conversation) {
	b.before, b.now, b.current = b.before+b.now, 0, c
}

// folded is told of each fold.
func (b *foldBar) folded(r compact.Report) {
	b.folds++
	b.now = max(0, int64(b.current.ViewTokens-r.TokensAfter))
	done := b.before + b.now
	rate := float64(done) / max(time.Since(b.began).Seconds(), 0.001)
	b.set(min(done, b.total), b.total, fmt.Sprintf("%s, %s tokens a second", prose.Count(b.folds, "summary", "summaries"), prose.Number(int(rate))))
}
