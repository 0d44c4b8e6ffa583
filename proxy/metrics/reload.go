package metrics

import "github.com/prometheus/client_golang/prometheus"

// Reloads are the metrics of configuration reloads.
type Reloads struct{ success, at prometheus.Gauge }

// Reloads returns gauges that report whether the newest configuration is in force, and since when. The initial
// configuration is. It must be called at most once. A nil *Reloads counts nothing.
func (m *Metrics) Reloads() *Reloads {
	if m == nil {
		return nil
	}
	r := &Reloads{
		success: gauge("config_reload_success", "1 if the configuration that was read last is in force, 0 if it was refused."),
		at:      gauge("config_reload_timestamp_seconds", "Time at which the configuration in force was read, in seconds since 1970."),
	}
	m.registry.MustRegister(r.success, r.at)
	r.Reloaded(true)
	return r
}

// Reloaded records a configuration that was read. ok means that it is in force now.
func (r *Reloads) Reloaded(ok bool) {
	if r == nil {
		return
	}
	r.success.Set(0)
	if ok {
		r.success.Set(1)
		r.at.SetToCurrentTime()
	}
}
