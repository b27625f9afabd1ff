package postgres

import (
	"testing"

	"context"
	"math"
	"net"
	"sync/atomic"
	"syscall"
)

// RoundTrips counts how often a store waited for the server.
type RoundTrips struct{ n atomic.Int64 }

// Count makes the connections of a store count.
func (t *RoundTrips) Count(o Options) Options {
	o.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &counting{Conn: c, trips: t}, err
	}
	return o
}

// Of returns how many round trips fn makes. If they are more than allowed, it is the least of
// several times, as a connection that is opened while another is in use has statements to
// prepare.
func (t *RoundTrips) Of(allowed int64, fn func()) int64 {
	least := int64(math.MaxInt64)
	for n := 0; n < 4 && least > allowed; n++ {
		before := t.n.Load()
		fn()
		least = min(least, t.n.Load()-before)
	}
	return least
}

// counting is a connection that counts the writes that follow an answer.
type counting struct {
	net.Conn
	trips *RoundTrips
	asked atomic.Bool
}

func (c *counting) Write(b []byte) (int, error) {
	if !c.asked.Swap(true) {
		c.trips.n.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.asked.Store(false)
	}
	return n, err
}

// Refusing returns options with which the next connections are refused, as many as left
// says.
func Refusing(left *atomic.Int64) (o Options) {
	o.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if left.Add(-1) >= 0 {
			return nil, syscall.ECONNREFUSED
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return o
}

// SetHungAfter changes how long the server waits for a process in a write transaction.
func SetHungAfter(t *testing.T, d string) {
	before := hungAfter
	hungAfter = d
	t.Cleanup(func() { hungAfter = before })
}
