package vectorindex

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnit(t *testing.T) {
	t.Parallel()
	v := []float32{3, 0, -4}
	if !Unit(v) || v[0] != 0.6 || v[2] != -0.8 {
		t.Errorf("%v", v)
	}
	tiny := []float32{1e-30, 1e-30}
	if !Unit(tiny) || math.Abs(float64(Near(tiny, tiny))-1) > 1e-6 {
		t.Errorf("%v", tiny)
	}
	for _, bad := range [][]float32{nil, {0, 0}, {1, float32(math.NaN())}, {float32(math.Inf(-1)), 1}} {
		if Unit(bad) {
			t.Errorf("%v has an order", bad)
		}
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	a, b := []float32{1, 2, 2}, []float32{-2, -4, -4}
	if !Unit(a) || !Unit(b) || Near(a, a) < 0.999 || Near(a, b) > -0.999 || Near([]float32{1, 0}, []float32{0, 1}) != 0 {
		t.Errorf("%v, %v", a, b)
	}
}

// Near is the sum of the products for any number of dimensions.
func TestNearOfAnyLength(t *testing.T) {
	t.Parallel()
	var a, b []float32
	for n := range 20 {
		want := float32(0)
		for i := range a {
			want += a[i] * b[i]
		}
		if got := Near(a, b); got != want {
			t.Errorf("%d numbers: %v, want %v", n, got, want)
		}
		a, b = append(a, float32(n+1)), append(b, float32(n%3-1))
	}
}

func TestVectorsAreKept(t *testing.T) {
	t.Parallel()
	v := []float32{1, -0.5, math.MaxFloat32}
	kept := AppendBytes(nil, v)
	if want := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xbf, 0xff, 0xff, 0x7f, 0x7f}; !cmp.Equal(kept, want) {
		t.Errorf("% x", kept)
	}
	if diff := cmp.Diff(v, AppendVector(nil, append(kept, 1, 2))); diff != "" {
		t.Error(diff)
	}
}

// The score by words never moves an item below a threshold of nearness. Both scores raise the result.
func TestFuse(t *testing.T) {
	t.Parallel()
	for _, near := range []float32{-1, -0.25, 0, 0.5, 1} {
		if got := Fuse(near, 0); got != float64(near) {
			t.Errorf("%v without words: %v", near, got)
		}
		for _, words := range []float64{0.25, 0.5, 0.75} {
			got := Fuse(near, words)
			if got < float64(near) || got > 1 || near < 1 && (got <= Fuse(near, words-0.25) || got <= Fuse(near-0.25, words)) {
				t.Errorf("%v with words %v: %v", near, words, got)
			}
		}
	}
}

// BenchmarkNear measures the work of a search over 100,000 items with 384 numbers.
func BenchmarkNear(b *testing.B) {
	a, c := make([]float32, 384), make([]float32, 384)
	for i := range a {
		a[i], c[i] = float32(i), 1/float32(i+1)
	}
	for b.Loop() {
		Near(a, c)
	}
}
