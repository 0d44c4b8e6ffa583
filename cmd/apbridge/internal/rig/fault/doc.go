// Package fault shows how the bridge bears faults of agents, clients, disks and limits. docs/faults.md lists them. It
// holds tests only.
package fault
