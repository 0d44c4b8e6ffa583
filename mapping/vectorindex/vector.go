package vectorindex

import (
	"encoding/binary"
	"math"
)

// Size is the number of bytes in which a vector's number is stored.
const Size = 4

// Unit scales a vector to length 1, so that the nearness of two vectors (the cosine of the angle between them) is their
// dot product. If all numbers are 0, or one is NaN or infinite, it returns false and does not change the vector.
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

// Near returns the nearness of two vectors of length 1 with the same number of dimensions, from -1 to 1.
func Near(a, b []float32) float32 {
	// Four sums over eight numbers at a time take less than half as long as a plain loop, in which each addition waits
	// for the previous one.
	var s0, s1, s2, s3 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0]*y[0] + x[4]*y[4]
		s1 += x[1]*y[1] + x[5]*y[5]
		s2 += x[2]*y[2] + x[6]*y[6]
		s3 += x[3]*y[3] + x[7]*y[7]
		a, b = a[8:], b[8:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// AppendBytes appends a vector in the stored form: IEEE 754 singles, lowest byte first.
func AppendBytes(to []byte, v []float32) []byte {
	for _, x := range v {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(x))
	}
	return to
}

// AppendVector appends the numbers that AppendBytes has written. Incomplete numbers are ignored.
func AppendVector(to []float32, kept []byte) []float32 {
	for ; len(kept) >= Size; kept = kept[Size:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(kept)))
	}
	return to
}
