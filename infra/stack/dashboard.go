//go:build cdk

package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/measure"
	"holdfast/infra/settings"
	"holdfast/infra/table"
)

// addDashboard shows, from the top: whether conversations find their caches,
// what that costs, how long clients wait, and how function and tables fare.
func addDashboard(stack awscdk.Stack, s settings.Settings, m metrics, alarms []interfacesawscloudwatch.IAlarmRef) {
	five := minutes(5)
	board := awscloudwatch.NewDashboard(stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(s.Name()),
	})
	board.AddWidgets(awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Alarms"), Alarms: &alarms, Width: jsii.Number(24),
	}))
	board.AddWidgets(
		graph("Cached share of input tokens, %", false, m.cachedShare()),
		graph("Tokens", true,
			m.logged(measure.CacheRead, "Sum", "input, read from cache", five),
			m.logged(measure.Input, "Sum", "input, fresh", five),
			m.logged(measure.CacheWrite, "Sum", "input, written to cache", five),
			m.logged(measure.Output, "Sum", "output", five)),
		graph("Providers' bill, USD an hour", false, m.logged(measure.Cost, "Sum", "USD", minutes(60))),
	)
	board.AddWidgets(
		graph("Exchanges", false,
			m.logged(measure.Exchanges, "Sum", "all", five),
			m.logged(measure.Moved, "Sum", "moved to another deployment", five),
			m.logged(measure.Degraded, "Sum", "degraded", five),
			m.logged(measure.Refused, "Sum", "5xx", five)),
		graph("First byte, ms", false,
			m.logged(measure.FirstByte, "p50", "p50", five),
			m.logged(measure.FirstByte, "p99", "p99", five)),
		graph("Function", false, m.lambda("Invocations", "Sum"), m.lambda("Errors", "Sum"), m.lambda("Throttles", "Sum"),
			m.lambda("ConcurrentExecutions", "Maximum")),
	)
	board.AddWidgets(
		graph("Read units", true, m.consumed("ConsumedReadCapacityUnits")...),
		graph("Write units", true, m.consumed("ConsumedWriteCapacityUnits")...),
		graph("Refused by DynamoDB", false, m.throttles()),
	)
}

// consumed is a metric of every table, side by side.
func (m metrics) consumed(name string) []awscloudwatch.IMetric {
	var all []awscloudwatch.IMetric
	for _, described := range table.All() {
		all = append(all, m.table(described.Name, name))
	}
	return all
}

func graph(title string, stacked bool, shown ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &shown, Stacked: jsii.Bool(stacked), Width: jsii.Number(8), Height: jsii.Number(6),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
	})
}
