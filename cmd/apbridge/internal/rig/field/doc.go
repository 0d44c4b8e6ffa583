// Package field shows that each operation that the documents of threads and runs name, and each field of its request,
// is honoured, refused or told to be a hint, and that the answers are as described: with assistants, crons, webhooks
// and what /info says of clients. It holds tests only.
package field
