// Package plan lays out runs: it turns a request for a run into one that the engine can begin, or says what is wrong
// with it. The service asks it for each request and each tick of a cron, and package stepping for the runs of tasks. It
// writes nothing, begins no run and knows no dialect.
//
// Start reading at Planner.fill, which has the parts in the order in which they need each other.
package plan
