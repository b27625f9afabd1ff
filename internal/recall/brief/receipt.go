package brief

import (
	"path"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/view/notes"
)

// receipt lists what the host's summary of a session does not say: standing instructions,
// decisions, open points, and files that were changed. Whatever the summary may say in
// other words is left out.
func (w *Work) receipt(p *page) {
	have := notes.Words(w.Host.Text)
	p.add(0, "# Before the compaction of %s, and not in the host's summary %s", where(w.Conversation), w.Host.ID)
	heading := len(p.lines)
	for i, q := range slices.Backward(w.Rules) {
		if q.ID < w.Host.ID && lacks(have, q.Text) {
			p.add(1+len(w.Rules)-i, "- standing instruction of the user: %s %s", q.ID, cut(q.Text, 200))
		}
	}
	for i, q := range slices.Backward(w.Decided) {
		if q.ID < w.Host.ID && lacks(have, q.Text+" "+q.Asked) {
			p.add(2+2*(len(w.Decided)-i), "- the user's answer: %s", q.decision())
		}
	}
	for _, q := range w.Failing {
		if q.ID < w.Host.ID && lacks(have, q.Text) {
			p.add(3, "- open: %s", failure(q))
		}
	}
	if w.Plan != nil && w.Plan.ID < w.Host.ID && lacks(have, w.Plan.Text) {
		p.add(3, "- open: plan in %s: %s", w.Plan.ID, cut(w.Plan.Text, 240))
	}
	files := slices.DeleteFunc(slices.Clone(w.Files), func(f File) bool {
		return f.Last >= w.Host.ID || strings.Contains(w.Host.Text, path.Base(f.Path))
	})
	p.list(4, "edited, no commit in the record", fileNames(files, w.Conversation.Project.Root), 240)
	if len(p.lines) == heading {
		p.lines = nil
	}
	p.place()
}

// lacks reports that two thirds of the words of a text are not among those of a summary. A text of few
// words may well be said in others.
func lacks(have map[string]bool, text string) bool {
	const few = 4
	found, of := notes.Share(have, text)
	return of >= few && found*3 < of
}
