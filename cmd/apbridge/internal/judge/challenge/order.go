package challenge

import (
	"fmt"
	"strings"
)

// Order puts challenges after those they depend on and otherwise keeps their order. Challenges that wait for one
// another are faults.
func Order(all []Challenge) ([]Challenge, []Fault) {
	o := order{byName: map[string]Challenge{}, done: map[string]bool{}, circular: map[string]bool{}}
	for _, c := range all {
		o.byName[Canonical(c.Name)] = c
	}
	for _, c := range all {
		o.place(c, nil)
	}
	return o.list, o.faults
}

type order struct {
	byName         map[string]Challenge
	done, circular map[string]bool
	list           []Challenge
	faults         []Fault
}

// place puts c into the list; chain are the challenges that wait for it.
func (o *order) place(c Challenge, chain []string) {
	for i, name := range chain {
		if name == c.Name {
			o.circle(chain[i:])
			return
		}
	}
	if o.done[c.Name] {
		return
	}
	chain = append(chain, c.Name)
	for _, name := range c.Dependencies {
		if before, ok := o.byName[Canonical(name)]; ok {
			o.place(before, chain)
		}
	}
	if !o.done[c.Name] && !o.circular[c.Name] {
		o.list = append(o.list, c)
	}
	o.done[c.Name] = true
}

func (o *order) circle(chain []string) {
	for _, name := range chain {
		if !o.circular[name] {
			o.circular[name] = true
			o.faults = append(o.faults, Fault{File: o.byName[Canonical(name)].Path, Field: "dependencies",
				Text: fmt.Sprintf("go in a circle: %s, %s", strings.Join(chain, ", "), chain[0])})
		}
	}
}
