package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/command/doctor"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/console"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/agent"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/judge/process"
	"github.com/apbridge/apbridge/config"
	"github.com/apbridge/apbridge/mapping"
)

// The interval at which a started agent is probed, the time it may take to exit, and the time to wait for its exit
// after a broken connection.
const (
	startPoll = 200 * time.Millisecond
	stopGrace = 5 * time.Second
	seenAfter = time.Second
)

// reachCommand starts an agent, waits until it answers, and starts a bridge for it.
func (f *targetFlags) reachCommand(ctx context.Context, p *program, call benchCall, client *agent.Client, command []string) (*target, error) {
	port, cfg, err := f.place(ctx, p.Environ)
	if err != nil {
		return nil, err
	}
	child, err := startChild(command, port, p.Environ)
	if err != nil {
		return nil, err
	}
	err = child.await(ctx, f.startTimeout, cfg.Agents["agent"].URL, func(ctx context.Context) error { return doctor.Examine(ctx, "agent", cfg).Err })
	if err != nil {
		child.stop()
		return nil, err
	}
	t, err := bridgeBefore(ctx, p, cfg, "agent", call.keep, client)
	if err != nil {
		child.stop()
		return nil, err
	}
	closeBridge := t.close
	t.name, t.gone = console.WithoutSecrets(command), child.gone
	t.close = func() error { defer child.stop(); return closeBridge() }
	return t, nil
}

// place determines where an agent will serve. It returns the port for the agent and the configuration with its URL.
func (f *targetFlags) place(ctx context.Context, environ []string) (string, *config.Config, error) {
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	address := cmp.Or(f.commandURL, "http://127.0.0.1:"+port)
	from := console.ConfigFlags{File: f.config, Agents: []string{"agent=" + address}}
	cfg, err := from.Load(environ, nil)
	if err != nil {
		return "", nil, err
	}
	return port, cfg, vacant(ctx, address)
}

// vacant checks that no other program serves at the agent's address, because it would be judged instead of the agent.
func vacant(ctx context.Context, address string) error {
	if listens(ctx, address) {
		return fmt.Errorf("another program already serves at %s and would be judged instead of COMMAND; stop it, or pass its URL without a command", address)
	}
	return nil
}

// listens reports whether a program accepts connections at the host and port of a URL.
func listens(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// child is an agent process. It is safe for concurrent use.
type child struct {
	cmd   *exec.Cmd
	said  *lastBytes
	free  func()        // ends its descendants, as does the end of this process
	ended chan struct{} // closed when the process has ended; err is set before
	err   error
}

// startChild starts a command. If possible, it shields the command from Ctrl-C on the terminal, so that its files can
// still be requested.
func startChild(command []string, port string, environ []string) (*child, error) {
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.ReplaceAll(a, "{port}", port)
	}
	c := &child{cmd: exec.Command(args[0], args[1:]...), said: &lastBytes{}, ended: make(chan struct{})}
	c.cmd.Env = append(slices.DeleteFunc(slices.Clone(environ), isBenchKey), "PORT="+port)
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = c.said, c.said, time.Second
	process.Group(c.cmd)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the agent cannot be started: %w", err)
	}
	c.free = process.Guard(c.cmd)
	go func() { c.err = c.cmd.Wait(); close(c.ended) }()
	return c, nil
}

// isBenchKey reports whether a variable is the key of a server or a grader, which the agent must not get.
func isBenchKey(variable string) bool {
	return strings.HasPrefix(variable, "BENCHMARK_KEY=") || strings.HasPrefix(variable, graderKey+"=")
}

// await probes the agent until it answers, exits or patience runs out. The error contains the result of the last
// complete probe.
func (c *child) await(ctx context.Context, patience time.Duration, address string, ask func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	var why string
	for {
		if listens(ctx, address) {
			why = "a program listens at " + address + " but did not answer"
			err := ask(ctx)
			if err == nil {
				return nil
			}
			if ctx.Err() == nil {
				why = mapping.Classify(err).Message
			}
		} else if ctx.Err() == nil {
			why = "no program listens at " + address + ". The command receives its port as {port} and PORT; use --command-url for another address"
		}
		select {
		case <-c.ended:
			return c.gone()
		case <-ctx.Done():
			return fmt.Errorf("the agent did not answer within %v: %s%s", patience, why, c.said.quoted())
		case <-poll.C:
		}
	}
}

// gone returns an error if the agent has exited or is about to, or nil.
func (c *child) gone() error {
	select {
	case <-c.ended:
	case <-time.After(seenAfter):
		return nil
	}
	how := "with exit status 0"
	if c.err != nil {
		how = "(" + c.err.Error() + ")"
	}
	return fmt.Errorf("the agent exited %s%s", how, c.said.quoted())
}

// stop ends the agent and its descendants.
func (c *child) stop() {
	process.Interrupt(c.cmd)
	select {
	case <-c.ended:
	case <-time.After(stopGrace):
	}
	process.Kill(c.cmd)
	c.free()
	<-c.ended
}

// lastBytes keeps the last bytes written to it. It is safe for concurrent use.
type lastBytes struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

const mostSaid = 2 << 10

func (l *lastBytes) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.Write(b)
	l.kept.Next(max(0, l.kept.Len()-mostSaid))
	return len(b), nil
}

// quoted returns the agent's last output in a form that completes a sentence.
func (l *lastBytes) quoted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.kept.String())
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return "; its last output: " + strconv.Quote(strings.Join(lines[max(0, len(lines)-5):], "\n"))
}
