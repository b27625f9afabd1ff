package delegation

import (
	"math"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func TestSpokenMessagesShareInWhatStandsNearThem(t *testing.T) {
	at := func(conversation store.ConversationID, seq int64, role llms.Role, score float64) candidate {
		m := store.Message{Conversation: conversation, Seq: seq}
		m.Body.Role = role
		return candidate{msg: m, score: score}
	}
	all := []candidate{
		at(1, 10, llms.RoleUser, 1), at(1, 11, llms.RoleAssistant, 0), // search has done neighbours already
		at(1, 15, llms.RoleTool, 1), at(1, 19, llms.RoleAssistant, 0), // spoken of after the output
		at(1, 60, llms.RoleUser, 2), at(1, 64, llms.RoleAssistant, 0), // an answer behind calls
		at(2, 65, llms.RoleUser, 0), at(1, 90, llms.RoleUser, 0), // elsewhere, and too far
	}
	want := map[int64]float64{10: 1, 11: 0, 15: 1, 19: printedShare, 60: 2, 64: 2 * nextShare, 65: 0, 90: 0}
	share(all)
	for _, c := range all {
		if w := want[c.msg.Seq]; math.Abs(c.score-w) > 1e-9 {
			t.Errorf("message %d has %g, want %g", c.msg.Seq, c.score, w)
		}
	}
}

func TestASpeakerIsNamed(t *testing.T) {
	for text, want := range map[string]float64{
		"Mara: the crane is down": namedSpeaker,
		"mara: yes":               namedSpeaker,
		"Ingrid: the crane":       1,
		"Note to Mara: call":      1, // no speaker
		": odd":                   1,
		"Mara said nothing":       1,
	} {
		if got := speaker(store.Message{Body: llms.User(text)}, "What did Mara's team say?"); got != want {
			t.Errorf("%q: %g, want %g", text, got, want)
		}
	}
}
