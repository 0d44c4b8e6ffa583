package vectorindex

import "math"

// Rounding is what the numbers of a rounded vector stand for, each a byte.
type Rounding struct {
	Unit float32 // what the number 1 stands for
	Off  float32 // how long what was left out is at most; infinite where the vector cannot be rounded
}

// roundingMost is the largest number of a rounded vector.
const roundingMost = math.MaxInt8

// largestRounded bounds the length of what is rounded: beyond, a product of singles may be infinite.
const largestRounded = 1e15

// AppendRounded appends a vector, a byte for each number, and returns what the bytes stand for.
func AppendRounded(to []int8, v []float32) ([]int8, Rounding) {
	largest, length := extent(v)
	r := Rounding{Unit: float32(largest / roundingMost)}
	if !(length < largestRounded) { // or it is no number
		return append(to, make([]int8, len(v))...), Rounding{Off: float32(math.Inf(1))}
	}
	left := 0.0
	for _, x := range v {
		n := 0.0
		if r.Unit > 0 {
			n = max(-roundingMost, min(roundingMost, math.Round(float64(x)/float64(r.Unit))))
		}
		to = append(to, int8(n))
		rest := float64(x) - n*float64(r.Unit)
		left += rest * rest
	}
	left = math.Sqrt(left)
	r.Off = above(left + unsure(len(v))*(length+left))
	return to, r
}

// extent is a vector's largest number, without its sign, and its length.
func extent(v []float32) (largest, length float64) {
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
		length += float64(x) * float64(x)
	}
	return largest, math.Sqrt(length)
}

// unsure is how far at most, in parts of the lengths of two vectors, their product as Near has it is off the true one,
// and what Bounds leaves out of the query, together: singles have 24 bits, and each number of a vector is the occasion
// of one rounding, or of two.
func unsure(dims int) float64 { return float64(dims+4) * 0x1p-22 }

// above is the next single that is larger.
func above(x float64) float32 { return math.Nextafter32(float32(x), float32(math.Inf(1))) }

// Bounds tells of rounded vectors how near to a query they are at most.
type Bounds struct {
	query  []int32
	unit   float64
	length float64
}

// queryMost is the largest number of a query: so fine that what is left out of it does not count, and so small that no
// sum of products is too large.
const queryMost = 1 << 23

// NewBounds returns the bounds of a query, whose numbers are finite and not all 0.
func NewBounds(query []float32) Bounds {
	b := Bounds{query: make([]int32, len(query))}
	largest, length := extent(query)
	b.unit, b.length = largest/queryMost, length
	for i, x := range query {
		b.query[i] = int32(math.Round(float64(x) / b.unit))
	}
	return b
}

// AtMost returns a bound of Near of the query and the vector that was rounded: no product of both is larger, in
// whatever order it is summed up. By the inequality of Cauchy and Schwarz what was left out of the vector adds no more
// than its length times that of the query.
func (b Bounds) AtMost(v []int8, r Rounding) float32 {
	sum, query := int64(0), b.query[:len(v)]
	for i, x := range v {
		sum += int64(query[i]) * int64(x)
	}
	return above(b.unit*float64(r.Unit)*float64(sum) + b.length*float64(r.Off) + tiniest*float64(len(v)))
}

// tiniest is what a product of two numbers may lose by being too small for a single.
const tiniest = math.SmallestNonzeroFloat32
