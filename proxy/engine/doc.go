// Package engine is the life of a run: it makes runs durable, starts them when
// their thread and their agent are free, drives the agent's backend, records
// what happens, and ends every run in exactly one state.
//
// Start reading at Engine.Begin (a run is made), then execution.work (a run is
// executed) and recorder (what becomes of an event). CONCURRENCY.md has the
// locks.
package engine
