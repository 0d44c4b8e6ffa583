package inspect

import (
	"cmp"
	"slices"
	"strings"
)

// turnPair is a turn of two runs' conversations. One side is nil if only the other run has it.
type turnPair struct {
	Kind  matchKind  `json:"kind"`
	A     *turn      `json:"a,omitempty"`
	B     *turn      `json:"b,omitempty"`
	Notes []string   `json:"notes,omitempty"` // what differs
	Words []piece    `json:"words,omitempty"` // of texts that differ but have words in common
	Calls []callPair `json:"calls,omitempty"` // if some of them differ
}

// callPair is a tool call in two turns of a pair.
type callPair struct {
	Kind matchKind `json:"kind"`
	A    *toolCall `json:"a,omitempty"`
	B    *toolCall `json:"b,omitempty"`
	Args []piece   `json:"args,omitempty"` // of arguments that differ
}

// barPair is a bar of two runs' waterfalls.
type barPair struct {
	Kind       matchKind `json:"kind"` // differs if it took another time
	Name       string    `json:"name"`
	A          *bar      `json:"a,omitempty"`
	B          *bar      `json:"b,omitempty"`
	Difference string    `json:"difference,omitempty"`

	place float64 // in the order of the page: when it begins, or the pair before it of the same kind
}

// wordWork bounds the comparison of words on one page; see wordDifference.
const wordWork = 4_000_000

// pairUp returns the places of two lists in order. It first pairs elements that are the same, and between these the ones
// that are most alike, from above 0. A place is -1 if the element has no partner.
func pairUp[T any](x, y []T, same func(a, b T) bool, alike func(a, b T) float32) (pairs [][2]int) {
	begin := [2]int{}
	anchors := align(x, y, func(a, b T) float32 { return equal(same(a, b)) })
	for _, anchor := range append(anchors, [2]int{len(x), len(y)}) {
		at := begin
		near := align(x[begin[0]:anchor[0]], y[begin[1]:anchor[1]], alike)
		for n := range near {
			near[n][0], near[n][1] = near[n][0]+begin[0], near[n][1]+begin[1]
		}
		for _, next := range append(near, anchor) {
			for ; at[0] < next[0]; at[0]++ {
				pairs = append(pairs, [2]int{at[0], -1})
			}
			for ; at[1] < next[1]; at[1]++ {
				pairs = append(pairs, [2]int{-1, at[1]})
			}
			if next[0] < len(x) && next[1] < len(y) {
				pairs = append(pairs, next)
			}
			at = [2]int{next[0] + 1, next[1] + 1}
		}
		begin = at
	}
	return pairs
}

func element[T any](list []T, at int) *T {
	if at < 0 {
		return nil
	}
	return &list[at]
}

func kindOf[T any](a, b *T, same func(a, b T) bool) matchKind {
	switch {
	case b == nil:
		return onlyA
	case a == nil:
		return onlyB
	case same(*a, *b):
		return inBoth
	}
	return differs
}

// pairTurns pairs the turns of two conversations that are the same, and between these the ones of the same role that have
// most words in common. Turns that have few in common are paired in their order, and the last two because they are the
// results.
func pairTurns(a, b []turn) []turnPair {
	work, list := wordWork, []turnPair{}
	words := map[*turn]map[string]bool{}
	refs := func(list []turn) (all []*turn) {
		for i := range list {
			all = append(all, &list[i])
			words[&list[i]] = list[i].words()
		}
		return all
	}
	x, y := refs(a), refs(b)
	same := func(a, b *turn) bool { return sameTurn(*a, *b) }
	alike := func(a, b *turn) float32 {
		if a.Role != b.Role {
			return 0
		}
		weight := float32(leastAlike)
		if common := overlap(words[a], words[b]); common >= leastOverlap {
			weight += common
		}
		if a == x[len(x)-1] && b == y[len(y)-1] {
			weight += lastAlike
		}
		return weight
	}
	for _, at := range pairUp(x, y, same, alike) {
		p := turnPair{A: element(a, at[0]), B: element(b, at[1])}
		if p.Kind = kindOf(p.A, p.B, sameTurn); p.Kind == differs {
			p.compare(&work)
		}
		list = append(list, p)
	}
	return list
}

const (
	leastAlike   = 0.1 // the weight of a pair that has only the role in common
	lastAlike    = 0.2 // is added for the last turns
	leastOverlap = 0.2 // less is chance
	maxWords     = 200 // of a turn that are looked at to find its partner
)

// words returns the first words of a turn and its tool calls.
func (t turn) words() map[string]bool {
	set := map[string]bool{}
	add := func(text string) {
		for _, w := range wordsOf(text) {
			if len(set) < maxWords && hasLetters(w) {
				set[w] = true
			}
		}
	}
	add(t.Text.Text)
	for _, c := range t.Calls {
		set[c.Name] = true
		add(c.Args.Text)
	}
	return set
}

// overlap returns the part of the words of two sets that are in both, from 0 to 1.
func overlap(a, b map[string]bool) float32 {
	common := 0
	for w := range a {
		if b[w] {
			common++
		}
	}
	return float32(common) / float32(max(1, len(a)+len(b)-common))
}

// sameTurn ignores ids, which are different in each run.
func sameTurn(a, b turn) bool {
	return a.Role == b.Role && sameName(a, b) && a.Text == b.Text && a.Failure == b.Failure && a.Asks == b.Asks &&
		slices.EqualFunc(a.Calls, b.Calls, sameCall) && slices.Equal(a.Files, b.Files)
}

// sameName ignores the name of a speaker if the other run gives none: not every protocol has names.
func sameName(a, b turn) bool { return a.Name == "" || b.Name == "" || a.Name == b.Name }

func sameCall(a, b toolCall) bool { return a.Name == b.Name && a.Args == b.Args }

// compare describes the difference between the turns of a pair.
func (p *turnPair) compare(work *int) {
	a, b := p.A, p.B
	if !sameName(*a, *b) {
		p.note("another name")
	}
	if a.Text != b.Text {
		p.Words = wordDifference(a.Text.Text, b.Text.Text, work)
		switch {
		case a.Text.Text == b.Text.Text:
			p.note("the texts differ after the part that is shown")
		case pieces(p.Words).countCommon() > 0:
			p.note("different words")
		default: // marks would cover everything
			p.Words = nil
			p.note("a different text")
		}
	}
	if a.Asks != b.Asks {
		p.note("a question in only one run")
	}
	if !slices.EqualFunc(a.Calls, b.Calls, sameCall) {
		p.note("different tool calls")
		p.Calls = pairCalls(a.Calls, b.Calls, work)
	}
	if !slices.Equal(a.Files, b.Files) {
		p.note("different files")
	}
	if len(p.Notes) == 0 {
		p.note("a failure in only one run")
	}
}

func (p *turnPair) note(words string) { p.Notes = append(p.Notes, words) }

func pairCalls(a, b []toolCall, work *int) (list []callPair) {
	for _, at := range pairUp(a, b, sameCall, func(a, b toolCall) float32 { return equal(a.Name == b.Name) }) {
		p := callPair{A: element(a, at[0]), B: element(b, at[1])}
		if p.Kind = kindOf(p.A, p.B, sameCall); p.Kind == differs {
			p.Args = wordDifference(p.A.Args.Text, p.B.Args.Text, work)
		}
		list = append(list, p)
	}
	return list
}

// callNote says how a tool call differs between two runs. It returns "" if it does not.
func callNote(kind matchKind) string {
	switch kind {
	case inBoth:
		return ""
	case differs:
		return "with different arguments"
	case onlyA:
		return "only in a"
	}
	return "only in b"
}

// pairBars pairs the steps of two waterfalls, and their calls, by names and order. Steps of which no name is in both are
// paired by order alone. It returns all in the order in which they begin, with the order of each kind kept.
func pairBars(a, b []bar) []barPair {
	list := []barPair{}
	for _, kind := range []barKind{barWaiting, barStep, barCall, barRest} {
		other := func(one bar) bool { return one.Kind != kind }
		x, y := slices.DeleteFunc(slices.Clone(a), other), slices.DeleteFunc(slices.Clone(b), other)
		same := func(a, b bar) bool { return a.Name == b.Name }
		alike := func(a, b bar) float32 { return equal(kind != barCall && commonName(a.Name) == commonName(b.Name)) }
		unlike := kind == barStep && !shareNames(x, y)
		if unlike {
			alike = func(bar, bar) float32 { return 1 }
		}
		place := 0.0
		for _, at := range pairUp(x, y, same, alike) {
			p := barPair{A: element(x, at[0]), B: element(y, at[1])}
			place = max(place, cmp.Or(p.A, p.B).Begin)
			p.place = place
			p.Kind = kindOf(p.A, p.B, func(a, b bar) bool { return sameTime(a.Length(), b.Length()) })
			if kind == barWaiting && p.Kind == inBoth && sameTime(p.A.Length(), 0) {
				continue
			}
			if p.Name = cmp.Or(p.A, p.B).Name; unlike && p.A != nil && p.B != nil {
				p.Name += " | " + p.B.Name
			}
			if p.A != nil && p.B != nil {
				p.Difference = moreTime(p.A.Length(), p.B.Length(), "longer", "shorter")
			}
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(p, q barPair) int { return cmp.Compare(p.place, q.place) })
	return list
}

// shareNames reports whether a bar of one list has the name of a bar of the other.
func shareNames(x, y []bar) bool {
	return slices.ContainsFunc(x, func(a bar) bool {
		return slices.ContainsFunc(y, func(b bar) bool { return commonName(a.Name) == commonName(b.Name) })
	})
}

// commonName returns the part of a step's name that is the same in each run: the number of a task's step, or the nodes of
// a graph without the ids of their subgraphs.
func commonName(name string) string {
	if strings.HasPrefix(name, "step ") {
		name, _, _ = strings.Cut(name, ":")
		return name
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], ":")
	}
	return strings.Join(parts, "/")
}
