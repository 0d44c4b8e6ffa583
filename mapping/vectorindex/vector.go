package vectorindex

import (
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/blas/gonum"
)

// Size is how many bytes a number of a vector takes where it is kept.
const Size = 4

// Unit scales a vector to the length 1, so that the nearness of two (the cosine of the angle between them) is their
// product. It returns false, and leaves the vector, where that cannot be: all is 0, or something is no number or
// infinite.
func Unit(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
	return true
}

// Near returns how near two vectors of the length 1 and of equally many numbers are, from -1 to 1.
func Near(a, b []float32) float32 {
	return gonum.Implementation{}.Sdot(len(a), a, 1, b, 1)
}

// AppendBytes appends a vector as it is kept: IEEE 754 singles, the lowest byte first.
func AppendBytes(to []byte, v []float32) []byte {
	for _, x := range v {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(x))
	}
	return to
}

// AppendVector appends the numbers that AppendBytes has written. Bytes that are not a whole number are left out.
func AppendVector(to []float32, kept []byte) []float32 {
	for ; len(kept) >= Size; kept = kept[Size:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(kept)))
	}
	return to
}
