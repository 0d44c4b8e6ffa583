package vectorindex

import (
	"math"
	"math/rand/v2"
	"testing"
)

// someVectors are of all kinds: by chance, with one number that is much larger than the others, of one number, with all
// alike, halfway between two numbers of a rounded one, and of other lengths.
func someVectors(r *rand.Rand, dims int) map[string][]float32 {
	list := map[string][]float32{}
	for _, name := range []string{"chance", "peak", "one", "alike", "halfway", "tiny", "huge", "denormal"} {
		list[name] = make([]float32, dims)
	}
	list["zero"] = make([]float32, dims)
	for i := range dims {
		x := float32(r.NormFloat64())
		list["chance"][i], list["peak"][i], list["alike"][i] = x, x/1000, 1
		list["halfway"][i] = (float32(r.IntN(253)-126) + 0.5) / 127
		list["tiny"][i], list["huge"][i], list["denormal"][i] = x*1e-30, x*1e20, x*1e-44
	}
	list["peak"][r.IntN(dims)], list["one"][r.IntN(dims)], list["halfway"][0] = 1, -1, 1
	for _, name := range []string{"chance", "peak", "one", "alike", "halfway"} {
		Unit(list[name])
	}
	return list
}

// backwards is Near in another order of the numbers, and so rounded otherwise.
func backwards(a, b []float32) (sum float32) {
	for i := len(a) - 1; i >= 0; i-- {
		sum += a[i] * b[i]
	}
	return sum
}

// No product is larger than its bound, and bounds of ordinary vectors are near.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, dims := range []int{1, 2, 3, 17, 384, 3072} {
		for range 20 {
			queries, vectors := someVectors(r, dims), someVectors(r, dims)
			queries["itself"], vectors["rounded"] = vectors["chance"], roundedDown(vectors["chance"])
			for of, query := range queries {
				if of == "zero" || of == "huge" || of == "tiny" || of == "denormal" {
					continue // queries have the length 1
				}
				b := NewBounds(query)
				for name, v := range vectors {
					numbers, rounding := AppendRounded(nil, v)
					most, near := b.AtMost(numbers, rounding), max(Near(query, v), backwards(query, v))
					if !(near <= most) || len(numbers) != dims {
						t.Errorf("%d numbers: %s and %s are %v near, at most %v", dims, of, name, near, most)
					}
					if name == "chance" && most-near > 0.05 {
						t.Errorf("%d numbers: %s and %s are %v near, with a bound of %v", dims, of, name, near, most)
					}
				}
			}
		}
	}
}

// roundedDown is a vector from which rounding takes much, always in the same direction.
func roundedDown(v []float32) []float32 {
	list := make([]float32, len(v))
	for i := range v {
		list[i] = (float32(math.Floor(float64(v[i])*100)) + 0.49) / 127
	}
	list[0] = 1
	Unit(list)
	return list
}

// What is no number, or too large for a product, has no bound.
func TestWhatCannotBeRounded(t *testing.T) {
	t.Parallel()
	b := NewBounds([]float32{0.6, 0.8})
	for _, v := range [][]float32{{float32(math.NaN()), 0}, {0, float32(math.Inf(1))}, {math.MaxFloat32, 0}} {
		if most := b.AtMost(AppendRounded(nil, v)); !math.IsInf(float64(most), 1) {
			t.Errorf("%v is at most %v near", v, most)
		}
	}
}

func FuzzBounds(f *testing.F) {
	f.Add([]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf}, []byte{0xff, 0xff, 0x7f, 0x7f, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		query, v := AppendVector(nil, a), AppendVector(nil, b)
		n := min(len(query), len(v))
		query, v = query[:n], v[:n]
		if !Unit(query) {
			return
		}
		most, near := NewBounds(query).AtMost(AppendRounded(nil, v)), Near(query, v)
		if near > most || math.IsNaN(float64(most)) {
			t.Errorf("%v and %v are %v near, at most %v", query, v, near, most)
		}
	})
}

// BenchmarkAtMost is what a search does for each vector of 384 numbers that is kept rounded.
func BenchmarkAtMost(b *testing.B) {
	query := someVectors(rand.New(rand.NewPCG(1, 2)), 384)["chance"]
	bounds := NewBounds(query)
	numbers, rounding := AppendRounded(nil, query)
	for b.Loop() {
		bounds.AtMost(numbers, rounding)
	}
}
