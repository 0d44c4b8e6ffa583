package proxy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/apbridge/apbridge/config"
)

// Listeners are the open listeners of a configuration. Connections wait until a Server runs on them.
type Listeners struct {
	public net.Listener
	admin  net.Listener // nil if there is none
}

// Listen opens the listeners of a configuration.
func Listen(cfg *config.Config) (*Listeners, error) {
	public, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, cannotListen("listen", cfg.Listen, err)
	}
	l := &Listeners{public: public}
	if cfg.Admin == "" {
		return l, nil
	}
	if l.admin, err = net.Listen("tcp", cfg.Admin); err != nil {
		return nil, errors.Join(cannotListen("admin", cfg.Admin, err), public.Close())
	}
	return l, nil
}

// Close closes the listeners. It may be called again.
func (l *Listeners) Close() error {
	var errs []error
	for _, one := range []net.Listener{l.public, l.admin} {
		if one == nil {
			continue
		}
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// cannotListen returns an error with the key to change. The error of package net repeats the address and names system
// calls.
func cannotListen(key, addr string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if sys := (*os.SyscallError)(nil); errors.As(err, &sys) {
		err = sys.Err
	}
	return fmt.Errorf("%s: cannot listen on %s: %w. %s", key, addr, err, listenAdvice(key, err))
}

func listenAdvice(key string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "Set " + key + " to a port from 1024 on, or give the process the right to a lower one (systemd: AmbientCapabilities=CAP_NET_BIND_SERVICE)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "Set " + key + " to an address of this machine, or to 0.0.0.0 for all of them"
	}
	return "Set " + key + " to another address, or free this one"
}
