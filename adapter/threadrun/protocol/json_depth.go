package protocol

// jsonDepth finds the end of a JSON object or list that arrives in pieces. It processes each byte once.
type jsonDepth struct {
	depth           int
	quoted, escaped bool
	ended           bool
}

func (s *jsonDepth) read(piece string) {
	for _, c := range []byte(piece) {
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		default:
			s.plain(c)
		}
	}
}

// plain reads a byte outside a string.
func (s *jsonDepth) plain(c byte) {
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
		s.ended = s.depth == 0
	}
}
