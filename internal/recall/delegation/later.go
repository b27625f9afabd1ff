package delegation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

const (
	// userSaid is how many of the user's messages about a question are shown, and laterWidth
	// about how many bytes of each.
	userSaid, laterWidth = 5, 130
	// leastForLater is the length of an answer below which they are left out.
	leastForLater = 900
)

// addLater adds what else the user said about the question, the newest first, and what was said
// after the first passage in its session. What holds now is shown by its date, not judged.
func (e *extract) addLater(ctx context.Context, all []candidate, question string) error {
	if e.most < leastForLater {
		return nil
	}
	first := e.passages[0].msg
	var said []store.Message
	for _, c := range all {
		if c.match && !e.shown[c.msg.ID] && c.msg.Body.Role == llms.RoleUser && spoken(c.msg) && len(said) < userSaid {
			said = append(said, c.msg)
		}
	}
	slices.SortFunc(said, func(a, b store.Message) int { return b.Body.Time.Compare(a.Body.Time) })
	after, err := lookup.Later(ctx, e.config.Store, first, asWords(question))
	if err != nil {
		return err
	}
	after = slices.DeleteFunc(after, func(m store.Message) bool {
		return e.shown[m.ID] || slices.ContainsFunc(said, func(s store.Message) bool { return s.ID == m.ID })
	})
	e.later = strings.TrimSuffix(e.dated("What else the user said about it, newest first:", said)+e.dated(fmt.Sprintf("Said after %s in its session:", first.ID), after), "\n")
	return nil
}

// dated writes messages in a line each.
func (e *extract) dated(title string, all []store.Message) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintln(&b, title)
	for _, m := range all {
		text := strings.Join(strings.Fields(e.excerpt(m.Body.PlainText(), laterWidth)), " ")
		fmt.Fprintf(&b, "- %s %s %s: %s\n", m.ID, m.Body.Role, m.Body.Time.UTC().Format(time.DateOnly), disarmed(text))
	}
	return b.String()
}
