package mapping

import "slices"

// Rights of a principal. None includes another: to run an agent and read its threads later requires RightRun and
// RightRead.
const (
	RightRun     = "run"     // to create, resume, answer and cancel runs, tasks and steps
	RightRead    = "read"    // to read, list, search and follow objects
	RightWrite   = "write"   // to change threads, states, files, items, assistants and crons
	RightAdmin   = "admin"   // to prune, to export and delete the data of an owner, and to call an agent directly
	RightInspect = "inspect" // to use the inspector
	RightMetrics = "metrics" // to read the bridge's counters, which cover all tenants and agents
	// RightStore is the right of a run's token. It only gives access to the paths of the long-term store. Keys cannot
	// have it.
	RightStore = "store"
)

// Rights returns the rights that keys, tokens and certificates can be given.
func Rights() []string {
	return []string{RightRun, RightRead, RightWrite, RightAdmin, RightInspect, RightMetrics}
}

const codeForbidden = "forbidden"

// Has reports whether the principal has a right. nil Rights include all except RightMetrics, which is checked with
// MayReadMetrics.
func (p Principal) Has(right string) bool {
	if p.Rights == nil {
		return right != RightMetrics
	}
	return slices.Contains(p.Rights, right)
}

// Need returns an error of class Forbidden that names the missing right, or nil.
func (p Principal) Need(rights ...string) error {
	for _, right := range rights {
		if !p.Has(right) {
			return Errorf(Forbidden, codeForbidden, "%q has no right to %s here. Give it %q among its rights, or use credentials that have it.", p.ID, allows[right], right)
		}
	}
	return nil
}

// allows maps each right to what it allows, for messages.
var allows = map[string]string{
	RightRun: "run agents", RightRead: "read", RightWrite: "change what is stored", RightAdmin: "administer",
	RightInspect: "inspect the bridge", RightMetrics: "read metrics",
}

// MayReadMetrics reports whether the principal may read counters, which cover all tenants and agents. The principal
// must have RightMetrics, or not be limited in any way.
func (p Principal) MayReadMetrics() bool {
	if p.Rights != nil {
		return slices.Contains(p.Rights, RightMetrics)
	}
	return p.Tenant == "" && !p.Limited()
}

// MayPassThrough reports whether the principal may call an agent directly. The principal must have RightAdmin and must
// not be limited by a tenant or ownership, because an agent knows neither and shows its work for all.
func (p Principal) MayPassThrough() bool {
	if p.Rights != nil {
		return slices.Contains(p.Rights, RightAdmin)
	}
	return p.Tenant == "" && !p.Own
}
