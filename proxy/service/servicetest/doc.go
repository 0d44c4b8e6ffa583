// Package servicetest provides bridges without faces for tests: the service over a real store, log and engine, with
// scripted agents. Test support only.
package servicetest
