//go:build cdk

package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/measure"
	"holdfast/infra/table"
)

// addMetricFilters reads numbers out of the one line that each exchange logs.
func addMetricFilters(stack awscdk.Stack, namespace string, gateway function) {
	for i, f := range measure.Filters() {
		awslogs.NewMetricFilter(stack, jsii.String(fmt.Sprintf("Measure%02d", i)), &awslogs.MetricFilterProps{
			LogGroup:        gateway.logs,
			FilterPattern:   awslogs.FilterPattern_Literal(jsii.String(f.Pattern())),
			MetricNamespace: jsii.String(namespace),
			MetricName:      jsii.String(f.Metric),
			MetricValue:     jsii.String(f.Value()),
		})
	}
}

// metrics are what alarms and the dashboard look at.
type metrics struct {
	namespace string
	gateway   function
	tables    tables
}

func newMetrics(namespace string, gateway function, all tables) metrics {
	return metrics{namespace, gateway, all}
}

// minutes is a period.
func minutes(n int) awscdk.Duration { return awscdk.Duration_Minutes(jsii.Number(n)) }

// logged is a metric that is read from the log.
func (m metrics) logged(name, statistic, label string, period awscdk.Duration) awscloudwatch.Metric {
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(m.namespace), MetricName: jsii.String(name),
		Statistic: jsii.String(statistic), Label: jsii.String(label), Period: period,
	})
}

// lambda is one of the metrics that Lambda keeps of the gateway.
func (m metrics) lambda(name, statistic string) awscloudwatch.Metric {
	return m.gateway.function.Metric(jsii.String(name), &awscloudwatch.MetricOptions{
		Statistic: jsii.String(statistic), Label: jsii.String(name), Period: minutes(5),
	})
}

// throttles are the requests that DynamoDB refused, over all tables.
func (m metrics) throttles() awscloudwatch.MathExpression {
	using, sum := map[string]awscloudwatch.IMetric{}, ""
	for i, described := range table.All() {
		for j, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
			id := fmt.Sprintf("t%d", 2*i+j)
			using[id] = m.table(described.Name, name)
			sum += "+FILL(" + id + ",0)"
		}
	}
	return expression(sum[1:], "throttled reads and writes", using)
}

// table is one of the metrics that DynamoDB keeps of a table.
func (m metrics) table(plain, name string) awscloudwatch.Metric {
	return m.tables[plain].Metric(jsii.String(name), &awscloudwatch.MetricOptions{
		Statistic: jsii.String("Sum"), Label: jsii.String(plain), Period: minutes(5),
	})
}

// cachedShare is the part of all input tokens that came out of a provider's
// prompt cache, in percent.
func (m metrics) cachedShare() awscloudwatch.MathExpression {
	using := map[string]awscloudwatch.IMetric{
		"fresh":   m.logged(measure.Input, "Sum", "fresh", minutes(5)),
		"read":    m.logged(measure.CacheRead, "Sum", "read from cache", minutes(5)),
		"written": m.logged(measure.CacheWrite, "Sum", "written to cache", minutes(5)),
	}
	return expression("100*FILL(read,0)/(FILL(fresh,0)+FILL(read,0)+FILL(written,0))", "cached share of input tokens, %", using)
}

func expression(text, label string, using map[string]awscloudwatch.IMetric) awscloudwatch.MathExpression {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(text), Label: jsii.String(label), UsingMetrics: &using, Period: minutes(5),
	})
}
