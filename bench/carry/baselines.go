package carry

import (
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// baselines are the simple ways to fill a budget.
func (s *session) baselines(budget int) []view {
	prompts, closing := s.prompts(400), s.closing(300)
	files := "files: " + strings.Join(s.files(), " ")
	views := []view{
		s.newest("newest messages", "", budget),
		s.newest("prompts, newest", strings.Join(prompts, "\n"), budget),
		s.newest("prompts, answers, files", strings.Join(append(append(slices.Clone(prompts), closing...), files), "\n"), budget),
	}
	if i := slices.IndexFunc(s.messages, func(m store.Message) bool { return m.Flags&store.FlagHostSummary != 0 && m.Flags&store.FlagHidden == 0 }); i >= 0 {
		views = append(views, s.compacted(budget))
	} else {
		views = append(views, s.newest("host's compaction", "", budget))
	}
	return views
}

// newest fills the budget with a head and the newest messages.
func (s *session) newest(way, head string, budget int) view {
	left := budget - llms.Estimate.Count(head)
	if left < 0 { // the newest part of the head
		head = head[len(head)*(-left)/(budget-left):]
		left = 0
	}
	var texts []string
	for _, m := range slices.Backward(s.messages) {
		if m.Flags&store.FlagHidden != 0 {
			continue
		}
		text := m.Body.Render()
		n := llms.Estimate.Count(text)
		if n > left {
			break
		}
		left -= n
		texts = append(texts, text)
	}
	slices.Reverse(texts)
	return view{way: way, text: head + "\n" + strings.Join(texts, "\n"), tokens: budget - left}
}

// compacted is what the host shows after its last compaction.
func (s *session) compacted(budget int) view {
	last := 0
	for i, m := range s.messages {
		if m.Flags&store.FlagHostSummary != 0 && m.Flags&store.FlagHidden == 0 {
			last = i
		}
	}
	after := &session{messages: s.messages[last+1:]}
	return after.newest("host's compaction", s.messages[last].Body.Render(), budget)
}

func (s *session) prompts(size int) (texts []string) {
	for i := range s.messages {
		if p := prompt(&s.messages[i]); p != "" {
			texts = append(texts, clip(p, size))
		}
	}
	return texts
}

// closing returns the last text of the assistant in each turn.
func (s *session) closing(size int) (texts []string) {
	last := ""
	for i := range s.messages {
		m := &s.messages[i]
		if prompt(m) != "" && last != "" {
			texts, last = append(texts, clip(last, size)), ""
		}
		if t := m.Body.PlainText(); m.Flags.Said() && m.Body.Role == llms.RoleAssistant && strings.TrimSpace(t) != "" {
			last = t
		}
	}
	return append(texts, clip(last, size))
}

func (s *session) files() (paths []string) {
	for _, m := range s.messages {
		for _, c := range m.Body.ToolCalls() {
			if c.Name != "Edit" && c.Name != "Write" {
				continue
			}
			if _, rest, ok := strings.Cut(c.Arguments, `"file_path":`); ok {
				if p := strings.SplitN(rest, `"`, 3); len(p) > 1 && !slices.Contains(paths, p[1]) {
					paths = append(paths, p[1])
				}
			}
		}
	}
	return paths
}

func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
