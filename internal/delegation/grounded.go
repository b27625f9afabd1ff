package delegation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/prose"
)

// shownIDs is how many of the ids that it has read a sub-agent is reminded of.
const shownIDs = 16

// grounded refuses an answer that nothing in the record bears out: one given
// without reading, one whose citations all name what was not read, and one
// that cites nothing and has figures that were nowhere to be read. An answer
// without figures needs no citation: "the record does not say" has none.
func (d *Service) grounded(ctx context.Context, r Request, g *Grant, said reply) error {
	read, err := g.account(ctx)
	if err != nil {
		return err
	}
	if len(read.order) == 0 {
		return &rejection{errGround, "nothing of the record was read", "Call lcm_expand with the payload of the task first."}
	}
	hint := "You have read " + strings.Join(read.order[:min(len(read.order), shownIDs)], ", ") + "."
	if len(said.CitedIDs) > 0 {
		if slices.ContainsFunc(said.CitedIDs, func(id string) bool { _, ok := read.cite(id); return ok }) {
			return nil
		}
		return &rejection{errGround, fmt.Sprintf("it cites %s, and nothing of that was read", prose.Clip(strings.Join(said.CitedIDs, ", "), 120)), hint}
	}
	if figure, ok := read.unsupported(said.Answer, r.Prompt+" "+r.Query); ok {
		return &rejection{errGround, fmt.Sprintf("it cites nothing, and nothing that was read says %q", prose.Clip(figure, 60)), hint}
	}
	return nil
}

// figures finds numbers and whatever is written with one: dates, versions, ids.
var figures = lazyregexp.New(`[\pL\pN_./:-]*\pN[\pL\pN_./:-]*`)

// unsupported returns a figure of an answer that stands neither in what was
// read nor in the question.
func (r *reading) unsupported(answer, question string) (string, bool) {
	known := strings.Builder{}
	known.WriteString(question)
	for _, id := range r.order {
		known.WriteString(" " + id)
		for _, text := range r.served[id].passages() {
			known.WriteString(" " + text)
		}
	}
	low := strings.ToLower(known.String())
	for _, figure := range figures().FindAllString(answer, -1) {
		if figure = strings.Trim(figure, "./:-_"); !strings.Contains(low, strings.ToLower(figure)) {
			return figure, true
		}
	}
	return "", false
}
