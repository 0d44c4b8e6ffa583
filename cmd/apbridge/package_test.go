package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/bridge"
	"github.com/apbridge/apbridge/config"
	"go.yaml.in/yaml/v3"
)

// composed has the checked parts of a Compose file.
type composed struct{ Services map[string]service }

type service struct {
	Build           any
	Environment     map[string]string
	StopGracePeriod time.Duration `yaml:"stop_grace_period"`
}

// documents returns the documents of an example file. If strict is true, they may only have the fields of D.
func documents[D any](t *testing.T, file string, strict bool) (list []D) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "examples", file))
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(strict)
	for {
		var d D
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list = append(list, d)
	}
}

// The sidecar's configuration is valid, and the pod waits longer for the bridge than the bridge for its runs.
func TestKubernetesExample(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "client")
	if err := os.WriteFile(key, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg *config.Config
	var bridge container
	var volumes []string
	var open []port // to the pod
	for _, d := range documents[manifest](t, "kubernetes/sidecar.yaml", true) {
		if text := d.Data["apbridge.yaml"]; text != "" {
			cfg = loadExample(t, strings.ReplaceAll(text, "/etc/apbridge-keys/client", key), nil)
		}
		for _, in := range d.Spec.Ingress {
			open = append(open, in.Ports...)
		}
		for _, v := range d.Spec.Template.Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		for _, v := range d.Spec.VolumeClaimTemplates {
			volumes = append(volumes, v.Metadata.Name)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == "agent" && (len(c.Ports) > 0 || c.SecurityContext.RunAsUser != 0) {
				t.Errorf("the agent is reached past the bridge, or runs as the bridge's user: %+v", c)
			}
			if c.Name == "bridge" {
				bridge = c
				outlasts(t, time.Duration(d.Spec.Template.Spec.TerminationGracePeriodSeconds)*time.Second)
			}
		}
	}
	if cfg == nil || bridge.Name == "" {
		t.Fatal("there is no configuration, or no bridge")
	}
	if cfg.Listen != "0.0.0.0:8080" || bridge.Ports[0].ContainerPort != 8080 {
		t.Errorf("the bridge listens on %s, and its port is %d", cfg.Listen, bridge.Ports[0].ContainerPort)
	}
	if len(open) != 1 || open[0].Port != bridge.Ports[0].ContainerPort || bridge.SecurityContext.RunAsUser == 0 {
		t.Errorf("the pod is open at %+v, and the bridge runs as %+v", open, bridge.SecurityContext)
	}
	if bridge.StartupProbe.HTTPGet.Path != "/readyz" || bridge.ReadinessProbe.HTTPGet.Path != "/readyz" || bridge.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("it is asked otherwise: %+v", bridge)
	}
	for _, m := range bridge.VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("no volume is called %s: there are %v", m.Name, volumes)
		}
	}
}

// Each bridge of the compose files has a valid configuration from its environment alone.
func TestComposeExamples(t *testing.T) {
	t.Parallel()
	for file, bridges := range map[string]int{"compose/one.yaml": 1, "compose/two.yaml": 2} {
		found, built := 0, 0
		for name, s := range documents[composed](t, file, false)[0].Services {
			if s.Build != nil {
				built++
			}
			if s.Environment["CLIENT_KEY"] == "" {
				continue
			}
			found++
			environ := []string{"APBRIDGE_LISTEN=0.0.0.0:8080"} // as in the Containerfile
			for k, v := range s.Environment {
				environ = append(environ, k+"="+v)
			}
			cfg := loadExample(t, "", environ)
			if cfg.Agents["legacy"].URL != "http://agent:8000" || len(cfg.Auth.Keys) != 1 {
				t.Errorf("%s: %s: %+v", file, name, cfg)
			}
			outlasts(t, s.StopGracePeriod)
		}
		if found != bridges || built != 1 {
			t.Errorf("%s has %d bridges, not %d, and builds %d images", file, found, bridges, built)
		}
	}
}

// The unit starts serve with valid arguments, and the image contains the listed files.
func TestUnitAndImage(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../.package/apbridge.service")
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile("../../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, string(unit), "ExecStart=/usr/bin/apbridge serve --config /etc/apbridge/apbridge.yaml\n", "RestartPreventExitStatus=2\n", "Type=notify\n", "ExecReload=/bin/kill -HUP $MAINPID\n", "TimeoutStartSec=infinity\n", "StateDirectory=apbridge\n")
	seconds := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(string(unit))
	wait, err := time.ParseDuration(seconds[1] + "s")
	if err != nil {
		t.Fatal(err)
	}
	outlasts(t, wait)
	holds(t, string(image), `HEALTHCHECK`, `"/usr/bin/apbridge", "health"`, ":nonroot\n", "ENV APBRIDGE_LISTEN=0.0.0.0:8080\n")
	for _, c := range [][]string{{"serve", "--help"}, {"health", "--help"}} {
		if code, _, errs := command(t, nil, c...); code != 0 {
			t.Errorf("%v: %s", c, errs)
		}
	}
}

// loadExample loads a configuration like serve.
func loadExample(t *testing.T, text string, environ []string) *config.Config {
	t.Helper()
	o := config.Options{Environ: expand(environ), Dialects: bridge.Dialects().Names(), Warn: func(c config.Problem) { t.Errorf("unwise: %s", c) }}
	if text != "" {
		o.File = filepath.Join(t.TempDir(), "apbridge.yaml")
		if err := os.WriteFile(o.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// expand replaces ${NAME:?words} by a value.
func expand(environ []string) (list []string) {
	for _, e := range environ {
		list = append(list, regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(e, "0123456789abcdef"))
	}
	return list
}

// outlasts fails if a supervisor waits no longer than the bridge's own grace period.
func outlasts(t *testing.T, wait time.Duration) {
	t.Helper()
	if grace := config.Default().ShutdownGrace; wait < grace+5*time.Second {
		t.Errorf("it is stopped after %v, and the grace is %v", wait, grace)
	}
}
