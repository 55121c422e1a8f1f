package telemetry

import (
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/infra/measure"
)

// Namespace is CloudWatch's name for what embedded writes. The stack's metric
// filters, which read the same line, have the deployment's own name.
const Namespace = "Holdfast"

// measured is one number with its unit in CloudWatch.
type measured struct {
	name, unit string
	value      float64
}

// embed writes the members by which CloudWatch reads numbers out of an
// exchange's own line, in its embedded metric format, without dimensions and by
// the names that the stack's dashboard has for them.
func (e *Exchange) embed(w *jsonedit.Writer) {
	all := e.measures()
	for _, m := range all {
		w.Name(m.name).Float(m.value)
	}
	w.Name("_aws").Object().Name("Timestamp").Int(e.End.UnixMilli()).Name("CloudWatchMetrics").Array()
	w.Object().Name("Namespace").Text(Namespace).Name("Dimensions").Array().Array().Close().Close().Name("Metrics").Array()
	for _, m := range all {
		w.Object().Name("Name").Text(m.name).Name("Unit").Text(m.unit).End()
	}
	w.Close().End().Close().End()
}

// measures are the exchange's numbers.
func (e *Exchange) measures() []measured {
	one := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	all := append(make([]measured, 0, 10),
		measured{measure.Exchanges, "Count", 1},
		measured{measure.Degraded, "Count", one(e.Affinity == "degraded")},
		measured{measure.Moved, "Count", one(e.Affinity == "moved")},
		measured{measure.Refused, "Count", one(e.Status >= 500)})
	if e.FirstByte > 0 {
		all = append(all, measured{measure.FirstByte, "Milliseconds", float64(e.FirstByte.Milliseconds())})
	}
	if u := e.Usage; u != nil {
		all = append(all,
			measured{measure.Input, "Count", float64(u.Input)},
			measured{measure.CacheRead, "Count", float64(u.CacheRead)},
			measured{measure.CacheWrite, "Count", float64(u.CacheWrite5m + u.CacheWrite1h)},
			measured{measure.Output, "Count", float64(u.Output)})
	}
	if e.Cost != nil {
		all = append(all, measured{measure.Cost, "None", *e.Cost})
	}
	return all
}
