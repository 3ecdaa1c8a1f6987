package pebble

// OpenLedgers returns how many ledgers somebody has a handle of.
func OpenLedgers(s *Store) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ledgers)
}
