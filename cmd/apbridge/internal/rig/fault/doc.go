// Package fault tests faults of agents, clients, disks and limits, which docs/faults.md lists. It only contains tests.
package fault
