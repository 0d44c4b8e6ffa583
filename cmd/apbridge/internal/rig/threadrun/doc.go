// Package threadrun shows that promises to clients of threads and runs are kept. It holds tests only.
package threadrun
