// Package operate tests the operator's view: the effect of every key of the configuration, limits of keys and tenants,
// the audit log, metrics, traces and logs of requests, encrypted bodies, and the data of one owner. It also tests
// configured data for agents: memory, and the request and principal of a call. It only contains tests.
package operate
