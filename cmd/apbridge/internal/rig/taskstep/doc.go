// Package taskstep shows what clients of tasks, steps and topics are promised.
package taskstep
