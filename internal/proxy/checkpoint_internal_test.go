package proxy

import (
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A checkpoint counts before the first answer, if it is one of the conversation; so does a
// summary of the host.
func TestWhichCheckpoint(t *testing.T) {
	s := &session{index: overlay.NewIndex()}
	s.index.Add(store.Message{ID: 7, Seq: 1, Body: llms.User("hello")})
	s.index.Add(store.Message{ID: 9, Seq: 2, Flags: store.FlagHostSummary, Body: llms.User("what was done")})
	mark := func(id int64) apiform.Message { return apiform.Message{Role: apiform.User, Checkpoint: id} }
	says := func(text string) apiform.Message {
		return apiform.Message{Role: apiform.User, Texts: []apiform.Text{{Key: apiform.TextKey([]byte(text))}}}
	}
	answer := apiform.Message{Role: apiform.Assistant}
	for name, c := range map[string]struct {
		messages []apiform.Message
		want     store.MessageID
	}{
		"of the conversation":      {[]apiform.Message{says("hello"), mark(7), answer}, 7},
		"of another one":           {[]apiform.Message{mark(8), answer}, 0},
		"after an answer":          {[]apiform.Message{says("hello"), answer, mark(7)}, 0},
		"the host's own":           {[]apiform.Message{says("what was done"), answer}, 9},
		"the host's, of old":       {[]apiform.Message{says("hello"), answer, says("what was done")}, 0},
		"of another, and the host": {[]apiform.Message{mark(8), says("what was done"), answer}, 9},
	} {
		if got := s.checkpointOf(&apiform.Request{Messages: c.messages}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
