package front

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/apbridge/apbridge/mapping"
)

// listed is an agent in a page's list.
type listed struct {
	Name    string
	Default bool
	Dialect string // "" if unknown
	Health  Health
	// Answered is the time of its newest answer, or zero if it is unknown or the caller may not see it.
	Answered time.Time
}

// Mark returns the CSS class for the agent's health.
func (l listed) Mark() string {
	switch l.Health.State {
	case Answers:
		return "good"
	case Silent, Unfit:
		return "bad"
	default:
		return "unsure"
	}
}

// agents returns the agents that the caller may use, the default one first, with their health. Only callers that may
// read the metrics see the time of answers to others.
func (f *front) agents(r *http.Request) (list []listed) {
	who, cfg := mapping.PrincipalOf(r.Context()), f.Config()
	agents := map[string]Agent{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Agents)) {
		if a := f.Agent(name); a != nil && who.May(name) {
			agents[name] = a
		}
	}
	found := f.Health.Of(r.Context(), agents)
	for name, a := range agents {
		l := listed{Name: name, Default: name == cfg.DefaultAgent, Dialect: a.Dialect(), Health: found[name]}
		if f.Answered != nil && who.MayReadMetrics() {
			l.Answered = f.Answered(name)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, byRank)
	return list
}

func byRank(a, b listed) int {
	if a.Default != b.Default {
		if a.Default {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}
