package rawjson

import "bytes"

// noNumbers are what Python's json.dumps and others write for numbers that JSON has not.
var noNumbers = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// WithoutNaN returns text that is no JSON but for NaN, Infinity and -Infinity with null in their place. It returns
// false, and changes nothing, where there are none or where the rest is no JSON.
func WithoutNaN(b []byte) (json []byte, ok bool) {
	if !bytes.Contains(b, noNumbers[0]) && !bytes.Contains(b, noNumbers[1]) {
		return nil, false
	}
	json = make([]byte, 0, len(b)+len(b)/8)
	from := 0 // of what is not copied yet
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

// noNumber is the length of the word that b begins with; 0 for any other.
func noNumber(b []byte) int {
	for _, word := range noNumbers {
		if bytes.HasPrefix(b, word) {
			return len(word)
		}
	}
	return 0
}
