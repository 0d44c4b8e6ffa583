// Package field tests that each documented operation of threads and runs, and each field of its request, is supported,
// refused or documented as a hint, and that responses match the documents. It includes assistants, crons, webhooks and
// the clients in /info. It only contains tests.
package field
