// Package proxy is the running bridge as a server: everything a request passes
// before it reaches a dialect's routes, health, metrics and shutdown.
//
// It knows no dialect. The routes are mounted from outside, and so are the
// words a request is refused with. Start reading at Server.guards, which is
// the order of the guards.
package proxy
