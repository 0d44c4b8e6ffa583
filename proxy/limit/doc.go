// Package limit bounds how much a key and a tenant may use: rates of requests, runs and bytes, streams that are open,
// and the quotas that the store keeps (docs/limits.md). The bridge makes one Limiter over one Allowances, which a
// reload gives new numbers. The guards ask it for requests and bytes, adapter.OpenStream for streams before their
// handler begins anything, the engine for runs; the store asks the Allowances for quotas: each where the whole can
// still be refused. It knows no HTTP, and cuts off nothing that it has let in.
//
// A rate is the moment up to which it is used up, in memory of one process. x/time/rate would forget tokens where many
// requests are refused at once, and make some where others are given back. Over PostgreSQL the moment is a row, of
// which bridges take lots (Ledger): a share for each bridge would refuse a client that stays with one, and counts that
// are told afterwards would let each bridge give all of it.
package limit
