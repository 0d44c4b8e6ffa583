package guard

import (
	"fmt"
	"testing"

	"go.uber.org/zap"
)

func TestUnknownOriginsAreLimited(t *testing.T) {
	t.Parallel()
	met, err := NewUnknownOrigins(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for n := range originsKept + 50 {
		met.meet(fmt.Sprintf("http://page%d.example.com", n))
	}
	if kept := met.seen.Len(); kept != originsKept {
		t.Errorf("%d origins are remembered, want %d", kept, originsKept)
	}
}
