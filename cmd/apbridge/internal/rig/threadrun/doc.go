// Package threadrun shows what clients of threads and runs are promised.
package threadrun
