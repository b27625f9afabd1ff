package delegation

import (
	"sync"
	"time"
)

// child is a sub-agent with its grant. Both end with the question, in every case.
type child struct {
	key   string
	grant *Grant
	meter *Meter
	grace time.Duration // how long it is waited for when its time is up

	mu      sync.Mutex
	session Session
	over    bool
}

// hold keeps a session that was opened, to close it in the end. One that comes
// too late is closed at once.
func (c *child) hold(s Session) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		s.Close()
		return false
	}
	c.session = s
	return true
}

// end revokes the grant and closes the session. It does not wait for a
// sub-agent that ignores its context.
func (c *child) end() {
	c.grant.Revoke()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && c.session != nil {
		defer c.session.Close()
	}
	c.over = true
}

// enter and leave keep the list of open child sessions.
func (d *Service) enter(c *child) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.children[c.key] = c
}

func (d *Service) leave(c *child) {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.children, c.key)
	}()
	c.end()
}
