// Package taskstep tests the promises to clients of tasks, steps and topics. It only has tests.
package taskstep
