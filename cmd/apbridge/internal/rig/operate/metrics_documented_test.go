package operate

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apbridge/apbridge/adapter/adaptertest"
	"github.com/apbridge/apbridge/cmd/apbridge/internal/rig"
	"github.com/apbridge/apbridge/proxy/store/storetest"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// metricFamily is a metric of a scrape without its values.
type metricFamily struct {
	kind   string
	labels []string
}

// allMetrics returns the metrics of a bridge that has done each kind of work.
func allMetrics(t *testing.T) map[string]metricFamily {
	t.Helper()
	storetest.File(t) // some of the metrics are about SQLite
	b := rig.InFront(t, rig.FaultyStep(adaptertest.Plain, adaptertest.BadJSON)())
	b.Post("/runs/wait", rig.OneRun).OK()
	b.Get("/threads/00000000-0000-0000-0000-000000000000").Is(404)
	expectMetric(b, `apbridge_errors_total{code="thread_not_found",dialect="threadrun"} 1`, `apbridge_runs_failed_total{agent="agent",code="bad_upstream_response"} 1`)
	return parseMetrics(string(b.Get("/metrics").OK().Body))
}

var (
	kindLine   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`(?m)^([a-z_]+)\{(.*)\} \S+$`)
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
)

// parseMetrics reads Prometheus' text format.
func parseMetrics(text string) map[string]metricFamily {
	shown := map[string]metricFamily{}
	for _, m := range kindLine.FindAllStringSubmatch(text, -1) {
		shown[m[1]] = metricFamily{kind: m[2]}
	}
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		name := familyOf(m[1], shown)
		of := shown[name]
		of.labels = nil
		for _, label := range labelName.FindAllStringSubmatch(m[2], -1) {
			if label[1] != "le" {
				of.labels = append(of.labels, label[1])
			}
		}
		slices.Sort(of.labels)
		shown[name] = of
	}
	return shown
}

// familyOf returns the metric of a sample. Samples of a histogram have different names.
func familyOf(sample string, shown map[string]metricFamily) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(sample, suffix); ok && shown[base].kind == "histogram" {
			return base
		}
	}
	return sample
}

// TestMetricsAreDocumented checks that docs/metrics.md lists the bridge's metrics with types and labels, and nothing
// else.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(rig.Root(t), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented, shown := map[string]string{}, map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(apbridge_[a-z_]+)` \\| (\\w+) \\| ?([a-z, ]*?) ?\\| \\S").FindAllStringSubmatch(string(raw), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		documented[row[1]] = row[2] + " " + strings.Join(labels, " ")
	}
	for name, m := range allMetrics(t) {
		if strings.HasPrefix(name, "apbridge_") {
			shown[name] = m.kind + " " + strings.Join(m.labels, " ")
		}
	}
	if diff := cmp.Diff(shown, documented); diff != "" {
		t.Errorf("metrics of a bridge (-) and of docs/metrics.md (+):\n%s", diff)
	}
}

// dashboard has the checked parts of a Grafana dashboard.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Query string }
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ RefID, Expr string }
	}
}

func observability(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(rig.Root(t), "examples", "observability", file))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// dashboardExprs returns the expressions of the dashboard, by panel and target.
func dashboardExprs(t *testing.T) map[string]string {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(observability(t, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	exprs, ids, cells := map[string]string{}, map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" || (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("panel %d, %q, of type %s, with %d targets", p.ID, p.Title, p.Type, len(p.Targets))
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if cells[at] != "" || at[0] >= 24 {
					t.Errorf("panel %q overlaps %q or is outside the grid at %v", p.Title, cells[at], at)
				}
				cells[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			exprs[p.Title+" "+target.RefID] = target.Expr
		}
	}
	for _, v := range d.Templating.List {
		if inner, ok := strings.CutPrefix(v.Query, "label_values("); ok {
			metric, label, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ", ")
			exprs["variable "+v.Name] = "count by (" + label + ") (" + metric + ")"
		}
	}
	if d.UID == "" || len(exprs) < 20 {
		t.Errorf("uid %q, %d expressions", d.UID, len(exprs))
	}
	return exprs
}

// alertRules is a file of Prometheus' rules. Ours must not have other members.
type alertRules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// alertExprs returns the expressions of the alerts, by name.
func alertExprs(t *testing.T) map[string]string {
	t.Helper()
	var rules alertRules
	strict := yaml.NewDecoder(bytes.NewReader(observability(t, "alerts.yaml")))
	strict.KnownFields(true)
	if err := strict.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if exprs[r.Alert] != "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %q is duplicate, or has no severity, summary or description", r.Alert)
			}
			exprs[r.Alert] = r.Expr
		}
	}
	if len(exprs) < 10 {
		t.Errorf("%d alerts", len(exprs))
	}
	return exprs
}

var (
	metricName  = regexp.MustCompile(`\b(?:apbridge|go|process)_[a-z_]+\b`)
	labelInExpr = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	labelsBy    = regexp.MustCompile(`\b(?:by|on) \(([a-z_, ]+)\)`)
	quoted      = regexp.MustCompile(`"[^"]*"`)
)

// TestDashboardAndAlertsUseExistingMetrics checks that the bridge has each metric in the dashboard and the alerts, and
// that each label is the metric's or added by Prometheus.
func TestDashboardAndAlertsUseExistingMetrics(t *testing.T) {
	t.Parallel()
	shown := allMetrics(t)
	labels := map[string]bool{"le": true, "instance": true, "job": true}
	for _, m := range shown {
		for _, label := range m.labels {
			labels[label] = true
		}
	}
	used := map[string]bool{}
	for of, exprs := range map[string]map[string]string{"dashboard": dashboardExprs(t), "alerts": alertExprs(t)} {
		for name, expr := range exprs {
			for _, metric := range metricName.FindAllString(quoted.ReplaceAllString(expr, ""), -1) {
				family := familyOf(metric, shown)
				if shown[family].kind == "" {
					t.Errorf("%s, %s: there is no metric %s", of, name, metric)
				}
				used[family] = true
			}
			for _, label := range usedLabels(expr) {
				if !labels[label] {
					t.Errorf("%s, %s: no metric has the label %s", of, name, label)
				}
			}
		}
	}
	// Metrics that operators are paged for must be in a panel or an alert.
	for name := range shown {
		if strings.HasPrefix(name, "apbridge_") && !used[name] && !slices.Contains([]string{"apbridge_runs_started_total", "apbridge_request_duration_seconds"}, name) {
			t.Errorf("%s is in no panel and no alert", name)
		}
	}
}

func usedLabels(expr string) (labels []string) {
	for _, m := range labelInExpr.FindAllStringSubmatch(expr, -1) {
		labels = append(labels, m[1])
	}
	for _, m := range labelsBy.FindAllStringSubmatch(expr, -1) {
		labels = append(labels, strings.Split(m[1], ", ")...)
	}
	return labels
}

// TestPromtoolAcceptsTheExamples checks configuration, alerts and the expressions of the dashboard with Prometheus' own
// tool, and runs the tests of the alerts.
func TestPromtoolAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed")
	}
	type recording struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []recording
	exprs := dashboardExprs(t)
	for i, name := range slices.Sorted(maps.Keys(exprs)) {
		expr := strings.ReplaceAll(exprs[name], "$__rate_interval", "5m")
		rules = append(rules, recording{"panel:target:" + string(rune('a'+i/26)) + string(rune('a'+i%26)), expr})
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	panels := filepath.Join(t.TempDir(), "panels.yaml")
	rig.WriteFile(t, panels, string(raw))
	for _, args := range [][]string{
		{"check", "config", "prometheus.yaml"}, {"check", "rules", "alerts.yaml"}, {"check", "rules", panels}, {"test", "rules", "alerts_test.yaml"},
	} {
		tool := exec.CommandContext(t.Context(), "promtool", args...)
		tool.Dir = filepath.Join(rig.Root(t), "examples", "observability")
		if out, err := tool.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestPromtoolAcceptsTheNames checks names, types and help against Prometheus' conventions.
func TestPromtoolAcceptsTheNames(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed")
	}
	b := rig.InFront(t, adaptertest.NewStepAgent(adaptertest.Plain))
	b.Post("/runs/wait", rig.OneRun).OK()
	tool := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
	tool.Stdin = bytes.NewReader(b.Get("/metrics").OK().Body)
	if out, err := tool.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
