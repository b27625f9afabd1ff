package delegation

import (
	"math"
	"testing"

	"github.com/lossless-context/lcm/store"
)

func TestTellingWords(t *testing.T) {
	for question, want := range map[string]string{
		"What was really the reason for the outage of crane 7?": "outage crane 7",
		"Wann fährt der Kran?":                                  "", // nothing that is known to be common
		"what was it?":                                          "", // nothing else
		`Who said "give me some time"?`:                         "", // a quotation is not taken apart
		"":                                                      "",
		"What was the anchor chain (-x) for?":                   "anchor chain x",
		"Which limit (per carrier) did we choose for trk-914?": "limit carrier trk-914",
	} {
		if got := telling(question); got != want {
			t.Errorf("telling(%q) = %q, want %q", question, got, want)
		}
	}
}

func TestWhatWasSaidHasAShareOfItsNeighbours(t *testing.T) {
	at := func(conversation store.ConversationID, seq int64, score float64) candidate {
		return candidate{msg: store.Message{Conversation: conversation, Seq: seq}, score: score}
	}
	got := shared(
		[]candidate{at(1, 10, 1), at(1, 11, 0), at(1, 19, 0), at(1, 60, 0), at(2, 11, 0)},
		[]candidate{at(1, 15, 1)},
	)
	want := []float64{1, nextShare, secondShare + printedShare, 0, 0}
	for i, w := range want {
		if math.Abs(got[i].score-w) > 1e-9 {
			t.Errorf("message %d is worth %g, want %g", got[i].msg.Seq, got[i].score, w)
		}
	}
}
