package report

import (
	"fmt"
	"math"
)

// Rate is how many of some tries passed.
type Rate struct{ Passed, Of int }

// Share returns the rate as a number from 0 to 1; 0 where there are no tries.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Passed) / float64(r.Of)
}

func (r Rate) always() bool { return r.Of > 0 && r.Passed == r.Of }

func (r Rate) never() bool { return r.Of > 0 && r.Passed == 0 }

// Interval returns the bounds of the true rate with a confidence of 95 %, by E. B. Wilson's score interval (Journal of
// the American Statistical Association 22, 1927). Of no tries it is 0 to 1.
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	const z = 1.959964 // of the normal distribution, for 95 %
	n, p := float64(r.Of), r.Share()
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max(0, (middle-half)/scale), min(1, (middle+half)/scale)
}

func (r Rate) String() string {
	if r.Of == 0 {
		return "none was judged"
	}
	low, high := r.Interval()
	return fmt.Sprintf("%d of %d (%.0f %%, 95 %% interval %.0f to %.0f %%)", r.Passed, r.Of, 100*r.Share(), 100*low, 100*high)
}
