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

// calibration knows how many tokens a unit of a request has, by model, and the windows of
// models. The usage of each answer tells the first, errors of the API the second.
type calibration struct {
	store store.State
	mu    sync.Mutex
	known map[string]float64
	fresh map[string]bool // the models whose ratio is not saved
	// windows are those that the API's errors have told, 0 where there is none.
	windows map[string]int
	told    map[string]bool // the models whose window is not saved
}

func newCalibration(s store.State) *calibration {
	return &calibration{store: s, known: map[string]float64{}, fresh: map[string]bool{}, windows: map[string]int{}, told: map[string]bool{}}
}

// ratio returns the tokens of a unit for a model.
func (c *calibration) ratio(ctx context.Context, model string) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.known[model]; ok {
		return r
	}
	r := defaultRatio
	if v, err := c.store.Get(ctx, store.CalibrationSpace, model); err == nil {
		var kept float64
		if json.Unmarshal(v.Data, &kept) == nil && plausible(kept) {
			r = kept
		}
	}
	c.known[model] = r
	return r
}

// plausible bounds a ratio: an API that counts wrongly must not stop the folding.
func plausible(r float64) bool { return r > 0.05 && r < 2 }

// learn takes the ratio of an answer over.
func (c *calibration) learn(model string, r float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[model], c.fresh[model] = r, true
}

// windowKey is the key of a model's window in the store.
const windowKey = "window:"

// leastWindow is the smallest window that is believed.
const leastWindow = 4_000

// window returns the window of a model that the API's errors have told, or 0.
func (c *calibration) window(ctx context.Context, model string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, ok := c.windows[model]; ok {
		return w
	}
	kept := 0
	if v, err := c.store.Get(ctx, store.CalibrationSpace, windowKey+model); err == nil && (json.Unmarshal(v.Data, &kept) != nil || kept < leastWindow) {
		kept = 0
	}
	c.windows[model] = kept
	return kept
}

// learnWindow takes the window of a model over.
func (c *calibration) learnWindow(model string, window int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.windows[model], c.told[model] = window, true
}

// save keeps the ratios and the windows for the next run. An error costs accuracy only, and the next save
// tries again.
func (c *calibration) save(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := func(key string, value any) bool {
		data, err := json.Marshal(value)
		return err == nil && put(ctx, c.store, store.CalibrationSpace, key, data, time.Time{}) == nil
	}
	for model := range c.fresh {
		if keep(model, c.known[model]) {
			delete(c.fresh, model)
		}
	}
	for model := range c.told {
		if keep(windowKey+model, c.windows[model]) {
			delete(c.told, model)
		}
	}
}
