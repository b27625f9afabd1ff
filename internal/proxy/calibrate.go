package proxy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// defaultRatio is how many tokens a unit has where no answer has told it yet.
const defaultRatio = 0.28

// leastWindow is the smallest window that is believed.
const leastWindow = 4_000

// calibration knows models from earlier requests and runs.
type calibration struct {
	store store.State
	mu    sync.Mutex
	known map[string]learnt // by model
	fresh map[string]bool   // the models that are not saved
}

// learnt is what the answers of a model have told.
type learnt struct {
	Ratio  float64 `json:"ratio"`            // the tokens of a unit of a request, from the usage
	Window int     `json:"window,omitempty"` // from errors, or 0
}

func newCalibration(s store.State) *calibration {
	return &calibration{store: s, known: map[string]learnt{}, fresh: map[string]bool{}}
}

// of returns what is known of a model.
func (c *calibration) of(ctx context.Context, model string) learnt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(ctx, model)
}

func (c *calibration) read(ctx context.Context, model string) learnt {
	if l, ok := c.known[model]; ok {
		return l
	}
	var l learnt
	v, err := c.store.Get(ctx, store.CalibrationSpace, model)
	if err != nil || json.Unmarshal(v.Data, &l) != nil || !plausible(l.Ratio) {
		l.Ratio = defaultRatio
	}
	if l.Window < leastWindow {
		l.Window = 0
	}
	c.known[model] = l
	return l
}

// plausible bounds a ratio: an API that counts wrongly must not stop the folding.
func plausible(r float64) bool { return r > 0.05 && r < 2 }

// learn changes what is known of a model.
func (c *calibration) learn(ctx context.Context, model string, change func(*learnt)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.read(ctx, model)
	change(&l)
	c.known[model], c.fresh[model] = l, true
}

// save keeps what was learnt for the next run. An error costs accuracy only, and the next
// save tries again.
func (c *calibration) save(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for model := range c.fresh {
		if store.Set(ctx, c.store, store.CalibrationSpace, model, c.known[model], time.Time{}) == nil {
			delete(c.fresh, model)
		}
	}
}
