// Package fault shows what the bridge makes of faults of agents, clients, disks and limits;
// docs/faults.md says which.
package fault
