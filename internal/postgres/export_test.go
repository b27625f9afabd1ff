package postgres

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
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

// Of returns how many round trips fn makes.
func (t *RoundTrips) Of(fn func()) int64 {
	before := t.n.Load()
	fn()
	return t.n.Load() - before
}

// counting is a connection that counts the writes that follow an answer.
type counting struct {
	net.Conn
	trips *RoundTrips
	asked atomic.Bool
}

func (c *counting) Write(b []byte) (int, error) {
	// Nobody waits for the end of a read transaction.
	if !bytes.Contains(b, []byte("ROLLBACK")) && !c.asked.Swap(true) {
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
