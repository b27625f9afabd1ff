package lookup_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// TestNamesOfSigns: a text of signs, whose words cannot be searched for, does not make a
// search fail.
func TestNamesOfSigns(t *testing.T) {
	f := newFixture(t)
	c := f.open("signs")
	f.say(c, llms.User("please restart the gateway && tell me"), llms.User("+Gateway || // "+strings.Repeat("GatewayX", 2000)))
	for _, pattern := range []string{"gateway", "restart gateway"} {
		if _, err := f.Grep(t.Context(), recall.GrepRequest{Pattern: pattern, Mode: store.FullText, Where: recall.Where{Current: c}}); err != nil {
			t.Error(err)
		}
	}
}
