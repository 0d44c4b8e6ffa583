// Package servicetest has bridges without faces for tests: the service over a real store, log and engine, with agents
// that do what the test says. Nothing that is built imports it.
package servicetest
