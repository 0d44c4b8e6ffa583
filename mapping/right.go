package mapping

import "slices"

// Rights that a principal may be given. None includes another: to run an agent and read its threads later takes
// RightRun and RightRead.
const (
	RightRun     = "run"     // to make, resume, answer and cancel runs, tasks and steps
	RightRead    = "read"    // to read, list, search and follow what is there
	RightWrite   = "write"   // to change threads, states, files, items, assistants and crons
	RightAdmin   = "admin"   // to prune, to take out and remove the data of an owner, and to call an agent past the bridge
	RightInspect = "inspect" // to look into the work of the bridge
	RightMetrics = "metrics" // to read the bridge's counters, of all tenants and agents
	// RightStore is that of a run's token, which opens the paths of the long-term store and no others. No key is given
	// it.
	RightStore = "store"
)

// Rights returns the rights that keys, tokens and certificates can be given.
func Rights() []string {
	return []string{RightRun, RightRead, RightWrite, RightAdmin, RightInspect, RightMetrics}
}

const codeForbidden = "forbidden"

// Has reports whether the principal has a right. A principal with nil Rights has all but RightMetrics, for which there
// is MayReadMetrics.
func (p Principal) Has(right string) bool {
	if p.Rights == nil {
		return right != RightMetrics
	}
	return slices.Contains(p.Rights, right)
}

// Need returns an error of class Forbidden, which names the right, unless the principal has all of these.
func (p Principal) Need(rights ...string) error {
	for _, right := range rights {
		if !p.Has(right) {
			return Errorf(Forbidden, codeForbidden, "%q has no right to %s here. Give it %q among its rights, or use credentials that have it.", p.ID, deeds[right], right)
		}
	}
	return nil
}

// deeds are what a right allows, in words.
var deeds = map[string]string{
	RightRun: "run agents", RightRead: "read", RightWrite: "change what is stored", RightAdmin: "administer",
	RightInspect: "inspect the bridge", RightMetrics: "read metrics",
}

// MayReadMetrics reports whether the principal may read counters, which are of all tenants and agents: it has that
// right, or nothing confines it.
func (p Principal) MayReadMetrics() bool {
	if p.Rights != nil {
		return slices.Contains(p.Rights, RightMetrics)
	}
	return p.Tenant == "" && !p.Limited()
}

// MayPassThrough reports whether the principal may use the way straight to an agent: it has the right to administer,
// and neither a tenant nor ownership confines it. An agent knows neither, and shows what it did for all.
func (p Principal) MayPassThrough() bool {
	if p.Rights != nil {
		return slices.Contains(p.Rights, RightAdmin)
	}
	return p.Tenant == "" && !p.Own
}
