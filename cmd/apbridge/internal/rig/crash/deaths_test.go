package crash

import (
	"slices"
	"testing"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
)

// A fail point is covered when scenes with the agent's account have died there in every setting. Deaths in other scenes
// do not count, nor do deaths that did not happen.
func TestDeathsCoverEverySetting(t *testing.T) {
	t.Parallel()
	d := newDeaths()
	tried := func(at place, reached bool) (names []string) {
		for _, as := range d.next(at) {
			names = append(names, as.Name)
			if reached {
				d.note(at, as)
			}
		}
		return names
	}
	all := []string{}
	for _, as := range settings() {
		all = append(all, as.Name)
	}
	if got := tried(place{"a", false}, true); !slices.Equal(got, all) {
		t.Errorf("the first death of other scenes is tried in %q, want %q", got, all)
	}
	if got := tried(place{"a", true}, false); !slices.Equal(got, all) {
		t.Errorf("the first death of scenes with an account is tried in %q, want %q", got, all)
	}
	if got := d.unproven(); len(got) != len(all) {
		t.Errorf("unproven places: %q", got)
	}
	for range all {
		if got := tried(place{"a", true}, true); len(got) != 1 {
			t.Errorf("a further death is tried in %q", got)
		}
	}
	if got := d.unproven(); len(got) != 0 || d.at("a") != 2*len(all) {
		t.Errorf("unproven places: %q after %d deaths", got, d.at("a"))
	}
	d.note(place{"b", false}, rig.Setting{})
	if d.at("b") != 1 || d.at("c") != 0 {
		t.Errorf("%d and %d deaths", d.at("b"), d.at("c"))
	}
}
