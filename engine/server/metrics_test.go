package server_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark-engine/tidemark/sdk/client"
)

// TestMetricNames holds the names, types and label names of all metrics against
// testdata/metrics.txt: dashboards rely on them. Run with -update to write it.
func TestMetricNames(t *testing.T) {
	h := open(t)
	c := h.dial("demo")
	h.sendAll(h.producer(c, "demo", client.ProducerOptions{}), 0, 10)
	h.readAll(c, "demo")
	if _, err := c.DescribeTopic(h.ctx(), "none"); err == nil {
		t.Error("none is there")
	}
	status, body := h.ask("GET", "/metrics", "")
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	got := metricNames(body)
	const golden = "testdata/metrics.txt"
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("metrics have changed; if that is meant, run go test ./engine/server -run TestMetricNames -update:\n%s", got)
	}
	for _, line := range []string{
		`tidemark_server_produced_messages_total 10`,
		`tidemark_server_read_entries_total 10`,
		`tidemark_added_entries_total 10`,
		`tidemark_server_call_duration_seconds_count{method="tidemark.v1.TopicService/DescribeTopic",reason="TOPIC_NOT_FOUND"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

var _ = flag.Bool("update", false, "write what tests compare with")

// metricNames returns a line for each metric: type, name and names of labels.
func metricNames(body string) string {
	types, labels := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(body) {
		if rest, found := strings.CutPrefix(line, "# TYPE "); found {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			types[name] = kind
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, labelled := strings.Cut(line, "{")
		if !labelled {
			continue
		}
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); types[base] == "histogram" {
				name = base
			}
		}
		for pair := range strings.SplitSeq(rest[:strings.LastIndex(rest, "}")], ",") {
			label, _, _ := strings.Cut(pair, "=")
			if !slices.Contains(labels[name], label) {
				labels[name] = append(labels[name], label)
			}
		}
	}
	var lines []string
	for name, kind := range types {
		line := kind + " " + name
		slices.Sort(labels[name])
		for _, label := range labels[name] {
			line += " " + label
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// The dashboard shows every metric there is, and no other.
func TestDashboardShowsAllMetrics(t *testing.T) {
	dashboard, err := os.ReadFile("dashboard/tidemark.json")
	if err != nil {
		t.Fatal(err)
	}
	var anything map[string]any
	if err := json.Unmarshal(dashboard, &anything); err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(metrics)) {
		fields := strings.Fields(line)
		names := []string{fields[1]}
		if fields[0] == "histogram" {
			names = []string{fields[1] + "_bucket", fields[1] + "_count"}
		}
		for _, name := range names {
			known[name] = true
			if !regexp.MustCompile(`\b` + name + `\b`).Match(dashboard) {
				t.Errorf("%s is not shown", name)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\btidemark_[a-z_]+`).FindAllString(string(dashboard), -1) {
		if !known[name] {
			t.Errorf("%s is shown and does not exist", name)
		}
	}
}
