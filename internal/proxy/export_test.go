package proxy

import "time"

// SetPatience sets how long a request waits for a fold that is late.
func (s *Server) SetPatience(d time.Duration) { s.patience = d }
