// Package taskstep tests the promises to clients of tasks, steps and topics. It only contains tests.
package taskstep
