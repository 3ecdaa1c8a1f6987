package server

// HoldFrames makes the server believe that n more bytes of frames are being
// sent.
func HoldFrames(s *Server, n int64) { s.underWay.Add(n) }
