package engine

import (
	"time"

	"github.com/apbridge/apbridge/proxy/eventlog"
	"github.com/apbridge/apbridge/proxy/memory"
	"github.com/apbridge/apbridge/proxy/store"
	"github.com/apbridge/apbridge/proxy/store/artifact"
)

// works is what all executions of this process share.
type works struct {
	settings   *configured
	background *background
	lease      *lease
	log        *eventlog.Log
	events     *store.Events
	flush      func() error     // store.Store.Flush
	now        func() time.Time // store.Store.Now
	sources    *sources
	exits      *exits
	reports    *reports
}

// sources are what agents are told from.
type sources struct {
	memory    *memory.Memory
	tasks     *taskLog
	links     *store.Links
	runs      *store.Runs
	states    *store.States
	artifacts *artifact.Table
	paths     interface { // Dialects
		ArtifactPath(agent, taskID, artifactID string) string
	}
}

// exits are what a run passes as it leaves this process: ended, parked or handed over.
type exits struct {
	runs    *store.Runs
	claims  *store.Claims
	calls   *captures
	endings *endings
	running *executions
	idle    *idleClocks
	relay   *cancelRelay
	bell    *doorbell
}
