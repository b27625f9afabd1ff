package proxy

import (
	"context"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// TestCalibrate: an answer tells how many tokens a unit has. A request that is short beside the
// last long one, and beside the budget, tells nothing, and neither does a count that cannot be.
func TestCalibrate(t *testing.T) {
	const budget, long = 40_000, 100_000 // tokens, units
	for name, c := range map[string]struct {
		model         string
		last          int // units
		units, tokens int
		want          float64 // of the session; of the model where it is another one
	}{
		"the first request":            {"m", 0, 10, 5, 0.5},
		"a title":                      {"m", long, 400, 200, defaultRatio},
		"just short":                   {"m", 4 * 15_999, 15_998, 7_999, defaultRatio},
		"a quarter of the last one":    {"m", 4 * 15_000, 15_000, 7_500, 0.5},
		"a tenth of the budget":        {"m", long, 16_000, 8_000, 0.5},
		"less than that":               {"m", long, 15_998, 7_999, defaultRatio},
		"a long one":                   {"m", long, long, long / 2, 0.5},
		"fewer tokens than can be":     {"m", long, long, long / 20, defaultRatio},
		"more tokens than can be":      {"m", long, long, long * 2, defaultRatio},
		"another model of the session": {"other", long, long, long / 2, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			server := &Server{cal: newCalibration(noState{}), ctx: t.Context()}
			s := &session{server: server, budget: budget, model: "m"}
			if c.last > 0 {
				s.last = &apiform.Request{Units: c.last}
			}
			s.calibrate(c.model, c.units, c.tokens)
			if got := server.cal.of(t.Context(), c.model).Ratio; got != c.want {
				t.Errorf("the model has a ratio of %v, want %v", got, c.want)
			}
			own := c.want
			if c.model != "m" {
				own = defaultRatio
			}
			if got := s.tokens("m", 1_000_000); got != int(own*1_000_000) {
				t.Errorf("a million units of the session are %d tokens, want %v", got, own*1_000_000)
			}
		})
	}
}

// TestLearnWindow: an error tells the window, or that it is smaller than the request. What is
// no smaller than the window that was assumed, or too small to be believed, is not learnt.
func TestLearnWindow(t *testing.T) {
	for text, want := range map[string]int{
		"prompt is too long: 170000 tokens > 64000 maximum": 64_000,
		"prompt is too long": 150_000,
		"prompt is too long: 170000 tokens > 4000 maximum":   4_000,
		"prompt is too long: 170000 tokens > 3999 maximum":   0,
		"prompt is too long: 170000 tokens > 199999 maximum": 199_999,
		"prompt is too long: 170000 tokens > 200000 maximum": 0,
		"the model is overloaded":                            0,
	} {
		for _, million := range []bool{false, true} {
			server := &Server{cal: newCalibration(noState{}), ctx: t.Context()}
			s := &session{server: server, model: "m", last: &apiform.Request{}}
			c := call{session: s, made: Composition{Model: "m", Window: 200_000, Tokens: 150_000}, million: million}
			if c.learnWindow([]byte(text)); million {
				want = 0
			}
			if got := server.cal.of(t.Context(), "m").Window; got != want {
				t.Errorf("%s: %d, want %d", text, got, want)
			}
		}
	}
}

// TestTheSmallerWindowHolds: what an error of the API told does not give way to larger settings.
func TestTheSmallerWindowHolds(t *testing.T) {
	for settings, want := range map[int]int{200_000: 64_000, 32_000: 32_000, 0: 64_000} {
		server := &Server{Config: Config{Windows: map[string]int{"m": settings}}, cal: newCalibration(noState{}), ctx: t.Context()}
		c := call{session: &session{server: server, model: "m", last: &apiform.Request{}}, made: Composition{Model: "m", Window: 200_000, Tokens: 150_000}}
		c.learnWindow([]byte("prompt is too long: 170000 tokens > 64000 maximum"))
		if got, known := server.window(nil, "m"); got != want || !known {
			t.Errorf("with settings of %d: %d, %v, want %d", settings, got, known, want)
		}
	}
}

// storedState has one value, whatever is asked for.
type storedState struct {
	store.State
	data string
	err  error
}

func (s *storedState) Get(context.Context, string, string) (store.Value, error) {
	return store.Value{Data: []byte(s.data)}, s.err
}

// TestStoredCalibration: what was stored counts as far as it can be true.
func TestStoredCalibration(t *testing.T) {
	for stored, want := range map[string]learnt{
		`{"ratio":0.5,"window":64000}`:  {0.5, 64_000},
		`{"ratio":0.5,"window":4000}`:   {0.5, 4_000},
		`{"ratio":0.5,"window":3999}`:   {0.5, 0},
		`{"ratio":0.5,"window":-1}`:     {0.5, 0},
		`{"ratio":0.05,"window":64000}`: {defaultRatio, 64_000},
		`{"ratio":2,"window":64000}`:    {defaultRatio, 64_000},
		`{"ratio":1.99,"window":64000}`: {1.99, 64_000},
		`no JSON`:                       {defaultRatio, 0},
	} {
		if got := newCalibration(&storedState{data: stored}).of(t.Context(), "m"); got != want {
			t.Errorf("%s: %+v, want %+v", stored, got, want)
		}
	}
}
