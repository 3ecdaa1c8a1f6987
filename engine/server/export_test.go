package server

// HoldFrames makes the server believe that n more bytes of frames are being
// sent.
func HoldFrames(s *Server, n int64) { s.underWay.Add(n) }

// FramesUnderWay returns the bytes of frames that are being sent.
func FramesUnderWay(s *Server) int64 { return s.underWay.Load() }
