package mapping

// This file is the grammar of JSON (RFC 8259) as a scanner: it finds where a
// value ends and allocates nothing.

// scanValue returns the index behind the value that starts at i.
func scanValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > maxDepth {
		return i, false
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{':
		return scanObject(b, i, depth)
	case '[':
		return scanArray(b, i, depth)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	default:
		return scanNumber(b, i)
	}
}

func scanObject(b []byte, i, depth int) (int, bool) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, true
	}
	for {
		end, ok := scanString(b, i)
		if !ok {
			return i, false
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return i, false
		}
		if i, ok = scanValue(b, skipSpace(b, i+1), depth+1); !ok {
			return i, false
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, false
		}
		if b[i] == '}' {
			return i + 1, true
		}
		if b[i] != ',' {
			return i, false
		}
		i = skipSpace(b, i+1)
	}
}

func scanArray(b []byte, i, depth int) (int, bool) {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = scanValue(b, i, depth+1); !ok {
			return i, false
		}
		if i = skipSpace(b, i); i >= len(b) {
			return i, false
		}
		if b[i] == ']' {
			return i + 1, true
		}
		if b[i] != ',' {
			return i, false
		}
		i = skipSpace(b, i+1)
	}
}

func scanString(b []byte, i int) (int, bool) {
	if i >= len(b) || b[i] != '"' {
		return i, false
	}
	for i++; ; {
		for i < len(b) && isPlain(b[i]) {
			i++
		}
		switch {
		case i == len(b):
			return i, false
		case b[i] == '"':
			return i + 1, true
		}
		n := escapeLength(b, i)
		if n == 0 {
			return i, false
		}
		i += n
	}
}

// isPlain tells whether a byte stands for itself in a string.
func isPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// escapeLength is the length of the escape at i, 0 for none.
func escapeLength(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\\' {
		return 0
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if i+6 > len(b) {
			return 0
		}
		for _, c := range b[i+2 : i+6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	default:
		return 0
	}
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func scanWord(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func scanNumber(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if end := scanDigits(b, i); end > i {
		i = end
	} else {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		end := scanDigits(b, i+1)
		if end == i+1 {
			return i, false
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		return scanExponent(b, i+1)
	}
	return i, true
}

func scanExponent(b []byte, i int) (int, bool) {
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	end := scanDigits(b, i)
	return end, end > i
}

func scanDigits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
