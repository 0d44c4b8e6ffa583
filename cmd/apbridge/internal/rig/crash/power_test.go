package crash

import (
	"os"
	"slices"
	"sync"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
)

var powerCut = rig.Setting{Name: "full, a power cut", Synchronous: "full", Cut: true}

// settings lists the settings in which deaths are tried.
func settings() []rig.Setting {
	if os.Getenv(storetest.Everywhere) == "postgres" {
		return []rig.Setting{{Name: storetest.Synchronous()}} // the server's own flushing is not tested here
	}
	return []rig.Setting{{Name: "normal", Synchronous: "normal"}, {Name: "full", Synchronous: "full"}, powerCut}
}

// place is a point in scenes of one kind.
type place struct {
	point  string
	counts bool // they compare the agent's account with the record: checkOpen
}

// deaths alternates the settings at each place and counts the deaths by place and setting. It is safe for concurrent
// use.
type deaths struct {
	mu   sync.Mutex
	met  map[place]int
	died map[place]map[string]int // by the name of the setting
}

func newDeaths() *deaths { return &deaths{met: map[place]int{}, died: map[place]map[string]int{}} }

// next returns the settings for a death: all of them for the first death at a place in any scene, then one by one.
func (s *deaths) next(at place) []rig.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, turn := settings(), s.met[at]
	s.met[at]++
	if turn == 0 {
		return all
	}
	turn %= len(all)
	return all[turn : turn+1]
}

func (s *deaths) note(at place, as rig.Setting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.died[at] == nil {
		s.died[at] = map[string]int{}
	}
	s.died[at][as.Name]++
}

// at returns how often a process died at a point, in any scene and setting.
func (s *deaths) at(point string) (n int) {
	for _, counts := range []bool{true, false} {
		for _, times := range s.died[place{point, counts}] {
			n += times
		}
	}
	return n
}

// unproven returns the places that scenes with the agent's account have reached without a death in each of the
// settings.
func (s *deaths) unproven() (list []string) {
	for at := range s.met {
		for _, as := range settings() {
			if at.counts && s.died[at][as.Name] == 0 {
				list = append(list, at.point+" "+as.Name)
			}
		}
	}
	slices.Sort(list)
	return list
}
