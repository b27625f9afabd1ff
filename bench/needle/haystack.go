package needle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lossless-context/lcm/llms"
)

// The lanes in which needles are planted.
const (
	Text      = "text"
	Arguments = "arguments"
	Output    = "output"
	Payload   = "payload"
)

var lanes = []string{Text, Arguments, Output, Payload}

// Positions is how many places in a haystack get a needle of each lane.
const Positions = 11

// needle is a fact that is planted once.
type needle struct {
	key, value string
	lane       string
	position   int // 0 the oldest
	message    int // its place in the haystack
}

func (n needle) sentence() string {
	return fmt.Sprintf("The access phrase of %s is %s.", n.key, n.value)
}

// haystack is a conversation with needles in it.
type haystack struct {
	messages []llms.Message
	needles  []needle
}

var (
	subjects = strings.Fields("scheduler parser gateway ledger invoice cache worker migration router template backup index session token deployment certificate sensor report queue planner")
	verbs    = strings.Fields("retries drops rewrites blocks flushes loads signs merges splits archives skips compares validates throttles mirrors")
	objects  = strings.Fields("records headers rows requests batches frames columns segments credentials snapshots files events replies pages locks")
	adverbs  = strings.Fields("slowly twice nightly silently eventually again first correctly rarely often")
	places   = strings.Fields("staging production Lisbon Osaka eu-west the-basement region-7 cluster-b the-edge Toronto")
)

func pick(rng *rand.Rand, words []string) string { return words[rng.IntN(len(words))] }

func sentence(rng *rand.Rand) string {
	return fmt.Sprintf("The %s %s %s %s in %s after %d tries.", pick(rng, subjects), pick(rng, verbs), pick(rng, objects), pick(rng, adverbs), pick(rng, places), rng.IntN(900))
}

func prose(rng *rand.Rand, sentences int) string {
	all := make([]string, sentences)
	for i := range all {
		all[i] = sentence(rng)
	}
	return strings.Join(all, " ")
}

// grow makes a haystack of about so many tokens.
func grow(rng *rand.Rand, tokens int, counter llms.Counter) haystack {
	var h haystack
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	add := func(m llms.Message) {
		m.Time = now
		now = now.Add(time.Duration(20+rng.IntN(200)) * time.Second)
		h.messages = append(h.messages, m)
	}
	planted := len(lanes) * Positions
	budget := tokens - planted*80 - Positions*payloadTokens
	spent := 0
	// At least one message lies between two needles, however small the stack.
	for i := 0; spent < budget || i < planted; i++ {
		var m llms.Message
		switch i % 4 {
		case 0:
			m = llms.User(prose(rng, 2+rng.IntN(4)))
		case 1:
			m = llms.Calls(prose(rng, 1), llms.ToolCall{ID: fmt.Sprint("c", i), Name: "shell", Arguments: fmt.Sprintf(`{"cmd":"make %s","note":"%s"}`, pick(rng, subjects), sentence(rng))})
		case 2:
			m = llms.Result(fmt.Sprint("c", i-1), "shell", prose(rng, 4+rng.IntN(6)), false)
		default:
			m = llms.Assistant(prose(rng, 3+rng.IntN(5)))
		}
		spent += llms.CountMessage(counter, m)
		add(m)
	}
	h.plant(rng)
	return h
}

// payloadTokens is about the size of a payload with a needle in it.
const payloadTokens = 700

// plant puts a needle of each lane at each position.
func (h *haystack) plant(rng *rand.Rand) {
	hay := h.messages
	h.messages = nil
	at := 0
	for position := range Positions {
		until := position * len(hay) / (Positions - 1)
		h.messages = append(h.messages, hay[at:until]...)
		at = until
		for _, lane := range lanes {
			n := needle{
				key:   fmt.Sprintf("%s-%s-%06x", pick(rng, subjects), pick(rng, objects), rng.IntN(1<<24)),
				value: fmt.Sprintf("%s-%08x", pick(rng, verbs), rng.Uint32()), lane: lane, position: position, message: len(h.messages),
			}
			m := n.inside(rng)
			m.Time = hay[min(at, len(hay)-1)].Time
			h.messages = append(h.messages, m)
			h.needles = append(h.needles, n)
		}
	}
}

// inside makes the message that holds a needle.
func (n needle) inside(rng *rand.Rand) llms.Message {
	call := fmt.Sprintf("n%d-%s", n.position, n.lane)
	switch n.lane {
	case Arguments:
		return llms.Calls("", llms.ToolCall{ID: call, Name: "remember", Arguments: fmt.Sprintf(`{"note":%q}`, n.sentence())})
	case Output:
		return llms.Result(call, "recite", prose(rng, 4)+"\n"+n.sentence()+"\n"+prose(rng, 4), false)
	case Payload:
		return llms.User(prose(rng, 22) + "\n" + n.sentence() + "\n" + prose(rng, 22))
	}
	return llms.User(prose(rng, 2) + " " + n.sentence() + " " + prose(rng, 2))
}
