package challenge

import (
	"fmt"
	"slices"
	"strings"
)

// Selection is which challenges are run; without a field set, all.
type Selection struct {
	Categories []string // those with one of them
	Only       []string // names
	Skip       []string // names; wins over the others
	// Alone leaves out what the chosen ones depend on.
	Alone bool
}

// From keeps the chosen challenges and those they depend on, in their order. A name or a category that no challenge has
// is an error.
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
		return nil, fmt.Errorf("no challenge is left; there are %s", namesOf(all))
	}
	return list, nil
}

func (s Selection) chooses(c Challenge) bool {
	if s.skips(c) || len(s.Only) > 0 && !slices.ContainsFunc(s.Only, c.isNamed) || s.Unasked(c) {
		return false
	}
	return len(s.Categories) == 0 || slices.ContainsFunc(c.Category, func(of string) bool { return slices.Contains(s.Categories, of) })
}

// Unasked reports whether a challenge is of an optional category that the selection does not name. A challenge that is
// named itself is asked for.
func (s Selection) Unasked(c Challenge) bool {
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
			return fmt.Errorf("there is no challenge %q; there are %s", name, namesOf(all))
		}
	}
	known := categoriesOf(all)
	for _, of := range s.Categories {
		if !slices.Contains(known, of) {
			return fmt.Errorf("no challenge is of the category %q; there are %s", of, strings.Join(known, ", "))
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
