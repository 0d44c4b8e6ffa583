package challenge

import (
	"fmt"
	"slices"
	"strings"
)

// Selection selects challenges. The zero value selects all that are not optional.
type Selection struct {
	Categories []string // any of these
	Only       []string // names
	Skip       []string // names; takes precedence
	// Alone excludes dependencies.
	Alone bool
}

// From returns the selected challenges and their dependencies, in the order of all. It returns an error for an unknown
// name or category.
func (s Selection) From(all []Challenge) ([]Challenge, error) {
	if err := s.check(all); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, c := range all {
		if s.chooses(c) {
			s.want(all, c, wanted)
		}
	}
	list := slices.DeleteFunc(slices.Clone(all), func(c Challenge) bool { return !wanted[c.Name] || s.skips(c) })
	if len(list) == 0 {
		return nil, fmt.Errorf("no challenges are left; known challenges: %s", namesOf(all))
	}
	return list, nil
}

func (s Selection) chooses(c Challenge) bool {
	if s.skips(c) || len(s.Only) > 0 && !slices.ContainsFunc(s.Only, c.isNamed) || s.Unselected(c) {
		return false
	}
	return len(s.Categories) == 0 || slices.ContainsFunc(c.Category, func(of string) bool { return slices.Contains(s.Categories, of) })
}

// Unselected reports whether a challenge has an optional category that is not selected. It returns false if challenges are
// selected by name.
func (s Selection) Unselected(c Challenge) bool {
	asked := func(category string) bool { return slices.Contains(s.Categories, category) }
	return len(s.Only) == 0 && slices.ContainsFunc(c.Optional, func(category string) bool { return !asked(category) })
}

func (s Selection) skips(c Challenge) bool { return slices.ContainsFunc(s.Skip, c.isNamed) }

func (c Challenge) isNamed(name string) bool { return Canonical(c.Name) == Canonical(name) }

func (s Selection) want(all []Challenge, c Challenge, wanted map[string]bool) {
	if wanted[c.Name] {
		return
	}
	wanted[c.Name] = true
	if s.Alone {
		return
	}
	for _, name := range c.Dependencies {
		if at := slices.IndexFunc(all, func(c Challenge) bool { return c.isNamed(name) }); at >= 0 {
			s.want(all, all[at], wanted)
		}
	}
}

func (s Selection) check(all []Challenge) error {
	for _, name := range slices.Concat(s.Only, s.Skip) {
		if !slices.ContainsFunc(all, func(c Challenge) bool { return c.isNamed(name) }) {
			return fmt.Errorf("there is no challenge %q; known challenges: %s", name, namesOf(all))
		}
	}
	known := categoriesOf(all)
	for _, of := range s.Categories {
		if !slices.Contains(known, of) {
			return fmt.Errorf("there is no category %q; known categories: %s", of, strings.Join(known, ", "))
		}
	}
	return nil
}

func namesOf(all []Challenge) string {
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

func categoriesOf(all []Challenge) (list []string) {
	for _, c := range all {
		list = append(list, c.Category...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Order moves challenges behind their dependencies and otherwise keeps their order. Circular dependencies are faults.
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

// place appends c after its dependencies. chain has the challenges that depend on c.
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
				Text: fmt.Sprintf("are circular: %s, %s", strings.Join(chain, ", "), chain[0])})
		}
	}
}
