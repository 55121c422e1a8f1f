// Package measure names what the stack's metric filters read out of the
// gateway's log: one metric for each number that an alarm or the dashboard
// shows. The test of the log line holds it against these fields, so that a
// renamed attribute fails a test instead of silencing an alarm. It imports only
// the standard library.
package measure

import (
	"fmt"
	"strings"
)

// Message marks the one line that each exchange writes.
const Message = "exchange"

// Names of the metrics.
const (
	Exchanges  = "holdfast_exchanges"
	Degraded   = "holdfast_degraded"
	Moved      = "holdfast_moved"
	Refused    = "holdfast_errors"
	FirstByte  = "holdfast_first_byte_ms"
	Input      = "holdfast_input_tokens"
	CacheRead  = "holdfast_cache_read_tokens"
	CacheWrite = "holdfast_cache_write_tokens"
	Output     = "holdfast_output_tokens"
	Cost       = "holdfast_cost_usd"
)

// Filter turns lines into data points of one metric.
type Filter struct {
	Metric string
	Field  string // dot path of the value; "" counts lines
	Only   string // condition beside the message, in CloudWatch's syntax; "" for none
}

// Filters lists what is read. Two filters may feed one metric.
func Filters() []Filter {
	return []Filter{
		{Metric: Exchanges},
		{Metric: Degraded, Only: `$.affinity = "degraded"`},
		{Metric: Moved, Only: `$.affinity = "moved"`},
		{Metric: Refused, Only: `$.status >= 500`},
		{Metric: FirstByte, Field: "ttfb_ms"},
		{Metric: Input, Field: "usage.input"},
		{Metric: CacheRead, Field: "usage.cache_read"},
		{Metric: CacheWrite, Field: "usage.cache_write_5m"},
		{Metric: CacheWrite, Field: "usage.cache_write_1h"},
		{Metric: Output, Field: "usage.output"},
		{Metric: Cost, Field: "cost_usd"},
	}
}

// Pattern is the filter in CloudWatch's syntax. A line without the field is no
// data point, which is not the same as zero.
func (f Filter) Pattern() string {
	conditions := []string{fmt.Sprintf(`($.msg = %q)`, Message)}
	if f.Field != "" {
		conditions = append(conditions, fmt.Sprintf("($.%s >= 0)", f.Field))
	}
	if f.Only != "" {
		conditions = append(conditions, "("+f.Only+")")
	}
	return "{ " + strings.Join(conditions, " && ") + " }"
}

// Value is what a matching line adds.
func (f Filter) Value() string {
	if f.Field == "" {
		return "1"
	}
	return "$." + f.Field
}
