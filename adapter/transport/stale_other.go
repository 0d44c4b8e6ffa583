//go:build !unix || solaris || illumos || aix

package transport

const canTellStale = false

func (c *conn) stale() bool { return true }
