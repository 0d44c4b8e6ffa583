// Package threadrun tests the promises to clients of threads and runs beyond single fields (package field): questions,
// forks, files, streams and the states of agents. It only contains tests.
package threadrun
