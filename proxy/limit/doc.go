// Package limit limits the use by keys and tenants: rates of requests, runs and bytes, open streams, and the quotas of
// the store (docs/limits.md). The bridge creates one Limiter over one Allowances, which a reload changes. The guards
// use it for requests and bytes, adapter.OpenStream for streams before their handler begins anything, the engine for
// runs. The store uses the Allowances for quotas. Each checks at a point where the whole can still be refused. The
// package does not depend on HTTP, and does not interrupt accepted work. Start reading at Limiter.
//
// A rate is stored as the time up to which it is used up, in the memory of one process. x/time/rate would lose tokens
// if many requests are refused at once, and gain some if others are returned. Over PostgreSQL the time is a row, from
// which bridges take lots (Ledger). A fixed share for each bridge would refuse a client that stays with one, and counts
// that are reported later would let each bridge use the whole rate.
package limit
