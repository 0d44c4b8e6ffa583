package main

import "testing"

// TestLimitsAreReloaded checks that quotas also count objects made while there was no quota, and that an unchanged rate
// stays used up.
func TestLimitsAreReloaded(t *testing.T) {
	t.Parallel()
	const agents = "agents: {a: {url: 'http://127.0.0.1:1'}}\n"
	bounded := func(limits string) string {
		return agents + "auth: {keys: [{id: alice, key: " + aliceKey + ", limits: {" + limits + "}}]}\n"
	}
	r := startReloaded(t, bounded("threads: 2"))
	make := func(statuses ...int) {
		t.Helper()
		for _, status := range statuses {
			r.want(status, aliceKey, "POST", "/threads", `{}`)
		}
	}
	make(200, 200, 429)
	r.reload(bounded(""), `"changed":\["auth.keys.alice.limits.threads"\]`)
	make(200, 200)
	r.reload(bounded("threads: 5, items: 9"), `"changed":\["auth.keys.alice.limits.threads","auth.keys.alice.limits.items"\]`) // on a separate line
	make(200, 429)
	r.reload(bounded("runs: 1/d, items: 1"), `"changed":\["auth.keys.alice.limits.runs"`)
	r.want(200, aliceKey, "POST", "/runs", `{"input":"hi"}`)
	r.want(429, aliceKey, "POST", "/runs", `{"input":"hi"}`, "limit_runs")
	r.reload(bounded("runs: 1/d, items: 2"), `"changed":\["auth.keys.alice.limits.items"\]`)
	r.want(429, aliceKey, "POST", "/runs", `{"input":"hi"}`, "limit_runs")
}
