package telemetry

import (
	"encoding/json"
	"log/slog"

	"holdfast/infra/measure"
)

// Namespace is CloudWatch's name for what embedded writes. The stack's metric
// filters, which read the same line, have the deployment's own name.
const Namespace = "Holdfast"

// embedded are the attributes by which CloudWatch reads numbers out of an
// exchange's own line, in its embedded metric format, without dimensions and by
// the names that the stack's dashboard has for them.
func (e *Exchange) embedded() []slog.Attr {
	one := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	type metric struct{ Name, Unit string }
	defined := []metric{}
	var attrs []slog.Attr
	add := func(name, unit string, value float64) {
		defined = append(defined, metric{name, unit})
		attrs = append(attrs, slog.Float64(name, value))
	}
	add(measure.Exchanges, "Count", 1)
	add(measure.Degraded, "Count", one(e.Affinity == "degraded"))
	add(measure.Moved, "Count", one(e.Affinity == "moved"))
	add(measure.Refused, "Count", one(e.Status >= 500))
	if e.FirstByte > 0 {
		add(measure.FirstByte, "Milliseconds", float64(e.FirstByte.Milliseconds()))
	}
	if u := e.Usage; u != nil {
		add(measure.Input, "Count", float64(u.Input))
		add(measure.CacheRead, "Count", float64(u.CacheRead))
		add(measure.CacheWrite, "Count", float64(u.CacheWrite5m+u.CacheWrite1h))
		add(measure.Output, "Count", float64(u.Output))
	}
	if e.Cost != nil {
		add(measure.Cost, "None", *e.Cost)
	}
	directive, err := json.Marshal(map[string]any{
		"Timestamp": e.End.UnixMilli(),
		"CloudWatchMetrics": []map[string]any{{
			"Namespace": Namespace, "Dimensions": [][]string{{}}, "Metrics": defined,
		}},
	})
	if err != nil {
		return nil
	}
	return append(attrs, slog.Any("_aws", json.RawMessage(directive)))
}
