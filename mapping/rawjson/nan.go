package rawjson

import "bytes"

// noNumbers are the words of Python's json.dumps and others for numbers that JSON lacks.
var noNumbers = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// WithoutNaN replaces NaN, Infinity and -Infinity by null in a text that is otherwise JSON. It returns false, and
// changes nothing, if there are none or if the rest is not JSON.
func WithoutNaN(b []byte) (json []byte, ok bool) {
	if !bytes.Contains(b, noNumbers[0]) && !bytes.Contains(b, noNumbers[1]) {
		return nil, false
	}
	json = make([]byte, 0, len(b)+len(b)/8)
	from := 0 // beginning of the text that was not copied yet
	for i := 0; i < len(b); {
		if b[i] == '"' {
			if i, ok = scanString(b, i); !ok {
				return nil, false
			}
			continue
		}
		n := noNumber(b[i:])
		if n > 0 {
			json = append(append(json, b[from:i]...), "null"...)
			from = i + n
		}
		i += max(n, 1)
	}
	json = append(json, b[from:]...)
	return json, from > 0 && Valid(json)
}

// noNumber returns the length of such a word at the beginning of b, or 0.
func noNumber(b []byte) int {
	for _, word := range noNumbers {
		if bytes.HasPrefix(b, word) {
			return len(word)
		}
	}
	return 0
}
