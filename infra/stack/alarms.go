//go:build cdk

package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/measure"
	"holdfast/infra/settings"
)

// alarm says when somebody should look.
type alarm struct {
	name, why string
	metric    awscloudwatch.IMetric
	threshold float64 // the alarm is for values at or above it
	periods   int     // in a row
}

// watched lists the alarms. No data is no trouble: an idle gateway is silent.
func watched(s settings.Settings, m metrics) []alarm {
	return []alarm{
		{"Errors", "The function crashed, ran out of time or broke off a stream.",
			m.lambda("Errors", "Sum"), 5, 1},
		{"ServerErrors", "Clients were answered with a 5xx: no deployment could serve, or the gateway failed.",
			m.logged(measure.Refused, "Sum", "5xx answers", minutes(5)), 5, 1},
		{"Throttles", "Lambda refused requests: the reserved concurrency or the account's quota is used up.",
			m.lambda("Throttles", "Sum"), 1, 1},
		{"StoreThrottles", "DynamoDB refused reads or writes; conversations may be served without their preference.",
			m.throttles(), 1, 2},
		{"FirstByte", "The slowest of a hundred answers waits too long for its first output.",
			m.logged(measure.FirstByte, "p99", "p99 first byte, ms", minutes(5)), float64(s.FirstByte), 3},
		{"Degraded", "Conversations are served without the store: prompt caches go cold, continuations are refused.",
			m.logged(measure.Degraded, "Sum", "degraded", minutes(5)), 5, 1},
		{"Spend", "The providers' bill for one hour, at the prices that are known.",
			m.logged(measure.Cost, "Sum", "USD an hour", minutes(60)), s.HourlySpend, 1},
	}
}

// addAlarms makes the alarms and the topic that they write to.
func addAlarms(stack awscdk.Stack, s settings.Settings, m metrics) []interfacesawscloudwatch.IAlarmRef {
	topic := awssns.NewTopic(stack, jsii.String("AlarmTopic"), &awssns.TopicProps{
		DisplayName: jsii.String(s.Name()), EnforceSSL: jsii.Bool(true),
	})
	if s.Email != "" {
		topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(jsii.String(s.Email), nil))
	}
	output(stack, "AlarmTopicArn", *topic.TopicArn(), "Subscribe to hear of alarms, or deploy with -c email=…")
	var made []interfacesawscloudwatch.IAlarmRef
	for _, a := range watched(s, m) {
		one := awscloudwatch.NewAlarm(stack, jsii.String(a.name+"Alarm"), &awscloudwatch.AlarmProps{
			AlarmName:          jsii.String(fmt.Sprintf("%s-%s", s.Name(), a.name)),
			AlarmDescription:   jsii.String(a.why),
			Metric:             a.metric,
			Threshold:          jsii.Number(a.threshold),
			EvaluationPeriods:  jsii.Number(a.periods),
			ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
			TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
		})
		one.AddAlarmAction(awscloudwatchactions.NewSnsAction(topic))
		made = append(made, one)
	}
	return made
}
