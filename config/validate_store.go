package config

import (
	"fmt"
	"regexp"
	"strings"
)

// homes are the URLs of known providers. Others need a URL.
var homes = map[string]string{
	"openai": "https://api.openai.com/v1",
	"ollama": "http://127.0.0.1:11434/v1",
}

// codeFile matches a function in a program, which langgraph.json may have instead of a model.
var codeFile = regexp.MustCompile(`^[./]|\.(py|js|mjs|cjs|ts|mts|cts):`)

// settleIndex derives settings of the embeddings from the provider. OpenAI's key may be in the variable that its own
// libraries use, so that a block copied from langgraph.json is sufficient.
func (l *loader) settleIndex() {
	i := &l.cfg.Store.Index
	if i.URL != "" || codeFile.MatchString(i.Embed) {
		return
	}
	i.URL = homes[i.Provider()]
	if i.Provider() == "openai" && i.Key == "" {
		i.Key = Secret(l.environ["OPENAI_API_KEY"])
	}
}

// indexCheck checks the vectors of the long-term store's items.
type indexCheck struct {
	*report
	Index
	path func(string) error // Options.Path
}

func (i indexCheck) check() {
	if !i.On() {
		i.checkNone()
		return
	}
	i.checkEmbed()
	i.checkFields()
	i.atLeast("store.index.dims", int64(i.Dims), 1)
	i.atLeast("store.index.batch", int64(i.Batch), 1)
	i.positive("store.index.batch_bytes", i.BatchBytes > 0)
	i.positive("store.index.timeout", i.Timeout > 0)
	i.checkHeaders("store.index.headers", i.Headers)
	for _, name := range sortedNames(i.Headers) {
		if i.Headers[name].IsOfPrincipal() {
			i.problem(join("store.index.headers", name), "cannot contain the principal, because texts of several principals are sent in one request")
		}
	}
	if strings.ContainsFunc(i.Key.Reveal(), isControl) {
		i.problem("store.index.key", "contains a line break or another control character")
	}
}

// checkNone refuses settings of an index that has no effect.
func (i indexCheck) checkNone() {
	if i.Dims != 0 || i.URL != "" || i.Key != "" {
		i.problem("store.index.embed", "is missing; write provider:model, like openai:text-embedding-3-small")
	}
}

func (i indexCheck) checkEmbed() {
	switch {
	case codeFile.MatchString(i.Embed):
		i.problem("store.index.embed", "cannot be %q, because the bridge does not run a graph's code; serve the function behind an OpenAI-compatible /v1/embeddings, write its address as store.index.url, and write provider:model", i.Embed)
	case i.Provider() == i.Embed || i.Provider() == "" || i.Model() == "":
		i.problem("store.index.embed", "cannot be %q; write provider:model, like openai:text-embedding-3-small", i.Embed)
	case i.URL == "":
		i.problem("store.index.url", "is missing; write the address at which %q serves /embeddings, which can be any OpenAI-compatible server", i.Provider())
	default:
		i.checkURL("store.index.url", i.URL)
	}
	if i.URL == homes["openai"] && i.Key == "" && len(i.Headers) == 0 {
		i.problem("store.index.key", "is missing; OpenAI requires one: write env:NAME or file:PATH, or set OPENAI_API_KEY")
	}
}

func (i indexCheck) checkFields() {
	for n, path := range i.Fields {
		if i.path == nil {
			continue
		}
		if err := i.path(path); err != nil {
			i.problem(fmt.Sprintf("store.index.fields[%d]", n), "%q %v; write paths like text or notes[*].text, or $ for the whole value", path, err)
		}
	}
	if len(i.Fields) == 0 {
		i.problem("store.index.fields", "is empty, so no item would be found by its meaning; leave it out, or name paths")
	}
}

// minutesMost bounds times to live, like the ttl of a request: 95 years.
const minutesMost = 50_000_000

func (r *report) checkTTL(ttl TTL) {
	r.atLeast("store.ttl.default_ttl", int64(ttl.Default), 0)
	r.atLeast("store.ttl.sweep_interval_minutes", int64(ttl.Sweep), 1)
	for key, minutes := range map[string]int{"store.ttl.default_ttl": ttl.Default, "store.ttl.sweep_interval_minutes": ttl.Sweep} {
		if minutes > minutesMost {
			r.problem(key, "cannot be %d; the maximum is %d minutes", minutes, minutesMost)
		}
	}
}

// storeCheck checks the use of an agent's store.
type storeCheck struct {
	*report
	cfg *Config
}

func (s storeCheck) check() {
	name := s.cfg.Store.Agent
	if name == "" {
		return
	}
	agent, there := s.cfg.Agents[name]
	switch {
	case !there:
		s.problem("store.agent", "cannot be %q, which is not below agents; name the agent whose store is to be used", name)
	case agent.Dialect == "taskstep":
		s.problem("store.agent", "names %q, whose dialect taskstep has no store; name a thread/run agent, or leave it out for the bridge's own", name)
	}
	s.checkTenants()
	if !there {
		return
	}
	const unused = "has no effect, because clients use the store of agent %q (store.agent). Configure it in the agent's server and leave this out"
	if s.cfg.Store.Index.On() {
		s.problem("store.index.embed", unused, name)
	}
	if s.cfg.Store.TTL.Default != 0 {
		s.problem("store.ttl.default_ttl", unused, name)
	}
	for _, other := range sortedNames(s.cfg.Agents) {
		if len(s.cfg.Agents[other].Memory.Namespaces) > 0 {
			s.problem("agents."+other+".memory.namespaces", "belong to the bridge's own store, which no client can write to while store.agent is set; leave one of them out")
		}
	}
	s.checkQuotas(name)
}

// checkQuotas refuses quotas of items, which are only counted in the bridge's own store.
func (s storeCheck) checkQuotas(name string) {
	list := map[string]int{"limits.tenant.items": s.cfg.Limits.Tenant.Items}
	for tenant, m := range s.cfg.Limits.Tenants {
		list["limits.tenants."+tenant+".items"] = m.Items
	}
	for i, key := range s.cfg.Auth.Keys {
		list[fmt.Sprintf("auth.keys[%d].limits.items", i)] = key.Limits.Items
	}
	for _, key := range sortedNames(list) {
		if list[key] != 0 {
			s.problem(key, "has no effect, because clients use the store of agent %q (store.agent); leave it out", name)
		}
	}
}

// checkTenants refuses an agent's store if there are several tenants.
func (s storeCheck) checkTenants() {
	const shared = "gives all tenants the same store, because agents do not know tenants, and "
	tenants := map[string]bool{}
	for _, key := range s.cfg.Auth.Keys {
		tenants[key.Tenant] = true
	}
	for i, j := range s.cfg.Auth.JWT {
		tenants[j.Tenant] = true
		if j.Claims.Tenant != "" {
			s.problem("store.agent", shared+"tokens name their tenants (auth.jwt[%d].claims.tenant); leave it out, or use one tenant", i)
		}
	}
	for _, c := range s.cfg.Auth.Certificates {
		tenants[c.Tenant] = true
	}
	if len(tenants) < 2 {
		return
	}
	names := sortedNames(tenants)
	if names[0] == "" {
		names[0] = `""`
	}
	s.problem("store.agent", shared+"there are %s; leave it out, or use one tenant", strings.Join(names, ", "))
}
