package proxy

import "time"

// SetPatience sets how long a request waits for a fold that is late.
func (s *Server) SetPatience(d time.Duration) { s.patience = d }

// SetBeat sets how often a request that is held is looked after.
func (s *Server) SetBeat(d time.Duration) { s.beat = d }
