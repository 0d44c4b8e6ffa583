// Package threadrun shows that promises to clients of threads and runs are kept: questions, forks, files, streams and
// the states of agents, whatever the fields of one request say (package field). It holds tests only.
package threadrun
