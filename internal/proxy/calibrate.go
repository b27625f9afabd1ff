package proxy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// defaultRatio is how many tokens a unit has where no answer has told it yet.
const defaultRatio = 0.28

// calibration knows how many tokens a unit of a request has, by model. The usage of
// each answer tells it.
type calibration struct {
	store store.State
	mu    sync.Mutex
	known map[string]float64
	fresh map[string]bool // the models whose ratio is not saved
}

func newCalibration(s store.State) *calibration {
	return &calibration{store: s, known: map[string]float64{}, fresh: map[string]bool{}}
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

// save keeps the ratios for the next run. An error costs accuracy only, and the next save
// tries again.
func (c *calibration) save(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for model := range c.fresh {
		data, err := json.Marshal(c.known[model])
		if err == nil && put(ctx, c.store, store.CalibrationSpace, model, data, time.Time{}) == nil {
			delete(c.fresh, model)
		}
	}
}
