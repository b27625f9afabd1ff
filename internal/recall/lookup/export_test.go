package lookup

// WithCountTo sets how many matches of a pattern are counted before an answer says
// "at least" (1,000).
func WithCountTo(n int) Option { return func(s *Service) { s.countTo = n } }
