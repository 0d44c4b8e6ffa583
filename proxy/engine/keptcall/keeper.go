// Package keptcall keeps the newest calls that a run has made of its agent, in a memory of a bounded size, for the
// inspector. The engine has one Keeper for each execution, and writes them down. It knows no run.
package keptcall

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apbridge/apbridge/adapter"
	"github.com/apbridge/apbridge/mapping"
	"github.com/apbridge/apbridge/mapping/credential"
)

const (
	callMemory  = 1 << 20  // bytes of bodies of one run
	callsMemory = 64 << 20 // the same of all runs at work
)

// Budget counts the bytes of bodies that are kept of all runs. Its zero value has all of it left.
type Budget struct{ bytes atomic.Int64 }

// Keeper implements adapter.CallKeeper for one run. Safe for concurrent use.
type Keeper struct {
	most int // so many calls are kept
	all  *Budget

	mu     sync.Mutex
	over   bool // what comes now is kept no more
	calls  []adapter.EndedCall
	ended  int64 // how many calls have
	memory int64 // bytes of this run that all counts
	told   [][]string
	open   int // calls under way
	since  time.Time
	spent  time.Duration // while at least one was
}

// Off returns a Keeper that counts the time of calls, and keeps none.
func Off() *Keeper { return &Keeper{all: new(Budget)} }

// In returns a Keeper of the newest calls, at most so many, whose bodies count in all.
func In(all *Budget, most int) *Keeper { return &Keeper{most: most, all: all} }

// Begin implements adapter.CallKeeper.
func (k *Keeper) Begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open++; k.open == 1 {
		k.since = time.Now()
	}
	return k.most > 0 && !k.over
}

// Room implements adapter.CallKeeper. The memory that it gives counts for this run until its calls, or the call that it
// is given for, are forgotten.
func (k *Keeper) Room(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.memory+int64(n) > callMemory && len(k.calls) > 0 {
		k.drop()
	}
	n = int(min(int64(n), callMemory-k.memory))
	if k.over || n <= 0 {
		return 0
	}
	if k.all.bytes.Add(int64(n)) > callsMemory {
		k.all.bytes.Add(-int64(n))
		return 0
	}
	k.memory += int64(n)
	return n
}

// End implements adapter.CallKeeper.
func (k *Keeper) End(c adapter.EndedCall) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open--; k.open == 0 {
		k.spent += time.Since(k.since)
	}
	if c == nil || k.over {
		return
	}
	k.ended++
	if k.calls = append(k.calls, c); len(k.calls) > k.most {
		k.drop()
	}
}

// drop forgets the oldest call. The lock must be held.
func (k *Keeper) drop() {
	c := k.calls[0]
	k.calls = k.calls[1:]
	n := min(k.memory, int64(c.Room()))
	k.memory -= n
	k.all.bytes.Add(-n)
}

// List returns the calls that have ended, oldest first, without secrets and tokens: those are taken out here, since
// most calls are never looked at.
func (k *Keeper) List() []adapter.AgentCall {
	k.mu.Lock()
	calls, n, told := slices.Clone(k.calls), k.ended-int64(len(k.calls)), slices.Clone(k.told)
	k.mu.Unlock()
	list := make([]adapter.AgentCall, len(calls))
	for i, c := range calls {
		list[i] = c.Shown()
		list[i].N, list[i].Told = n+int64(i)+1, told
		hideTokens(&list[i])
	}
	return list
}

// Tell notes that the agent is told of items from now on: their namespaces go with the run's calls.
func (k *Keeper) Tell(items []mapping.ItemName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, it := range items {
		if !slices.ContainsFunc(k.told, func(ns []string) bool { return slices.Equal(ns, it.Namespace) }) {
			k.told = append(k.told, it.Namespace)
		}
	}
}

// AgentTime returns how long at least one call was under way.
func (k *Keeper) AgentTime() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open > 0 {
		return k.spent + time.Since(k.since)
	}
	return k.spent
}

// Forget gives the memory back; what comes now is kept no more.
func (k *Keeper) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all.bytes.Add(-k.memory)
	k.over, k.calls, k.memory = true, nil, 0
}

// hideTokens takes tokens of runs out of a call: the bridge has sent them itself.
func hideTokens(c *adapter.AgentCall) {
	for _, p := range []*adapter.CallPart{&c.Sent, &c.Received} {
		p.SetBody(credential.HideRunTokens(p.Body))
	}
	c.URL, c.Error = string(credential.HideRunTokens([]byte(c.URL))), string(credential.HideRunTokens([]byte(c.Error)))
}
