// Package operate shows what those who run a bridge set, see and answer for: that every key of the configuration
// changes something, what keys and tenants may use, the audit, metrics, traces and logs of requests, bodies that are
// sealed, databases of the version before, and the data of one owner. What agents are given because the configuration
// says so stands here, too: memory, and the request and principal that a call is made for. It holds tests only.
package operate
