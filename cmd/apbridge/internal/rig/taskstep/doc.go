// Package taskstep shows that promises to clients of tasks, steps and topics are kept. It holds tests only.
package taskstep
