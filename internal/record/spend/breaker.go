package spend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// breaker counts how often a provider refused a key, and when.
type breaker struct {
	Failures  int       `json:"failures,omitempty"`
	OpenUntil time.Time `json:"openUntil,omitzero"`
}

// probeTime is how long other calls wait for the one that tries a key again.
const probeTime = time.Minute

func (m *account) breakerKey() string { return m.name + "@" + m.limits.Account }

func (m *account) breaker(ctx context.Context) (b breaker, err error) {
	v, err := m.state.Get(ctx, store.BreakerSpace, m.breakerKey())
	if errors.Is(err, store.ErrNotFound) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(v.Data, &b)
	}
	return b, err
}

// pass refuses a call while the circuit is open. After the cooldown, the first
// caller may try, and others are refused until its result is known.
func (m *account) pass(ctx context.Context) error {
	b, err := m.breaker(ctx)
	if err != nil || b.Failures < m.limits.Failures {
		return err
	}
	var refused error
	err = change(ctx, m.state, store.BreakerSpace, m.breakerKey(), func(b *breaker) {
		refused = nil
		if b.Failures < m.limits.Failures {
			return
		}
		if wait := b.OpenUntil.Sub(m.clock()); wait > 0 {
			refused = &llms.Error{Class: llms.ClassAuth, Provider: m.name, Message: fmt.Sprintf(
				"the key was refused %d times in a row; it is not tried again for %s, another key at once", b.Failures, wait.Round(time.Second))}
			return
		}
		b.OpenUntil = m.clock().Add(probeTime)
	})
	return errors.Join(refused, err)
}

// received records whether the key was refused.
func (m *account) received(ctx context.Context, refused bool) error {
	b, err := m.breaker(ctx)
	if err != nil || !refused && b == (breaker{}) {
		return err
	}
	return change(ctx, m.state, store.BreakerSpace, m.breakerKey(), func(b *breaker) {
		if !refused {
			*b = breaker{}
			return
		}
		if b.Failures++; b.Failures >= m.limits.Failures {
			b.OpenUntil = m.clock().Add(m.limits.Cooldown)
		}
	})
}
